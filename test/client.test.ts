import { isBrief, runFolder } from "./folder.js";

await runFolder("client", isBrief("client"));
