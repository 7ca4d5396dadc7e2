import { runFolder } from "./folder.js";

// The other files run with test:protocol.
await runFolder("harness", (file) => file === "rows.test.js");
