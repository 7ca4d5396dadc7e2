import { isBrief, runFolder } from "./folder.js";

await runFolder("live", isBrief("live"));
