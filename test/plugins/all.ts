import { isLengthy, runFolder } from "../folder.js";

// The other files run with `npm test`.
await runFolder("plugins", isLengthy("plugins"));
