import t from "tap";
import { place } from "./sqlite-place.js";
import { storeContract } from "./store-contract/index.js";

// PostgreSQL is held to the same contract in ../engines/postgres.test.ts.

void t.test("SQLite", (t) => storeContract(t, place));
