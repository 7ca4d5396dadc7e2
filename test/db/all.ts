import { isLengthy, runFolder } from "../folder.js";

// The other files run with `npm test`.
await runFolder("db", isLengthy("db"));
