import t from "tap";
import { openSqliteStore } from "../../../db/engines/sqlite/index.js";
import { putDatabase } from "../../support/database.js";
import { testdir } from "../../support/testdir.js";
import { storeContract } from "./store-contract/index.js";

// PostgreSQL is held to the same contract in ../engines/postgres.test.ts.

void t.test("SQLite", (t) =>
  storeContract(t, async (t) => {
    const dataDir = testdir(t);
    await putDatabase(dataDir, []);
    return (onAppended, audits = true) =>
      openSqliteStore(dataDir, { audits, startsHere: true, ...(onAppended && { onAppended }) });
  }),
);
