import { isBrief, runFolder } from "./folder.js";

await runFolder("cli", isBrief("cli"));
