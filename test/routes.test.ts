import { isBrief, runFolder } from "./folder.js";

await runFolder("routes", isBrief("routes"));
