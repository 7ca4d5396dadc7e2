import t from "tap";
import { openSqliteStore } from "../../../db/engines/sqlite/index.js";
import { putDatabase } from "../../support/database.js";
import { testdir } from "../../support/testdir.js";
import { storeContract } from "./store-contract/index.js";

// ../engines/postgres.test.ts tests the same contract on PostgreSQL.

void t.test("SQLite", (t) =>
  storeContract(t, async (t) => {
    const dataDir = testdir(t);
    await putDatabase(dataDir, []);
    return (onAppended, audits = true) =>
      openSqliteStore(dataDir, { audits, startsHere: true, ...(onAppended && { onAppended }) });
  }),
);
