import { runFolder } from "../folder.js";

// `npm test` has the rows.
await runFolder("harness", (file) => file !== "rows.test.js");
