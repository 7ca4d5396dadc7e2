import type { Migration } from "./migration.js";
import everything from "./0001-everything.js";
import erasedEdits from "./0002-erased-edits.js";
import foldedFields from "./0003-folded-fields.js";
import log from "./0004-log.js";
import { forPostgres } from "../../shared/migrations/dialects.js";
import { shared } from "../../shared/migrations/index.js";

/** All migrations, in order. The nth upgrades the database from version n - 1 to version n. */
export const migrations: readonly Migration[] = [
  { tables: everything },
  { tables: erasedEdits },
  foldedFields,
  log,
  ...shared.map((text) => ({ tables: forPostgres(text) })),
];
