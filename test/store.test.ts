import { runFolder, STORE } from "./folder.js";

// The contract of the store takes as long as all other tests of the folder.
await runFolder("db", (file) => file === STORE);
