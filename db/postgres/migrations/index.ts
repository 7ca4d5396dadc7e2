import type { Sql } from "../engine/sql.js";
import everything from "./0001-everything.js";
import erasedEdits from "./0002-erased-edits.js";
import foldedFields from "./0003-folded-fields.js";
import log from "./0004-log.js";

/** A step from one version of the tables to the next. */
export interface Migration {
  /** Statements. */
  tables: string;
  /** Fills columns afterwards that only JavaScript can fill. */
  fill?(sql: Sql): Promise<void>;
}

/** All migrations, in order. The nth upgrades the database from version n - 1 to version n. */
export const migrations: readonly Migration[] = [
  { tables: everything },
  { tables: erasedEdits },
  foldedFields,
  log,
];
