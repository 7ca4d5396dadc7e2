import everything from "./0001-everything.js";
import erasedEdits from "./0002-erased-edits.js";

/** All migrations, in order. The nth upgrades the database from version n - 1 to version n. */
export const migrations: readonly string[] = [everything, erasedEdits];
