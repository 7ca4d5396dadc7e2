import { isBrief, runFolder } from "./folder.js";

await runFolder("plugins", isBrief("plugins"));
