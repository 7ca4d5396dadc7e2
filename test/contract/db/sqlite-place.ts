import { openSqliteStore } from "../../../db/engines/sqlite/index.js";
import { putEmpty } from "../../support/database.js";
import { testdir } from "../../support/testdir.js";
import type { Place } from "./store-contract/setup.js";

/** A folder for stores of SQLite. */
export const place: Place = async (t) => {
  const dataDir = testdir(t);
  await putEmpty(dataDir);
  return (onAppended, audits = true) =>
    openSqliteStore(dataDir, { audits, startsHere: true, ...(onAppended && { onAppended }) });
};
