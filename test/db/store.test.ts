import t from "tap";
import { openSqliteStore } from "../../db/sqlite/index.js";
import { storeContract } from "./contract.js";

void t.test("SQLite", (t) =>
  storeContract(t, (t) => {
    const dataDir = t.testdir();
    return () => openSqliteStore(dataDir);
  }),
);
