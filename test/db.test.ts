import { isBrief, runFolder } from "./folder.js";

await runFolder("db", isBrief("db"));
