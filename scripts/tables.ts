import { writeFile } from "node:fs/promises";
import Database from "better-sqlite3";
import { addFunctions } from "../db/sqlite/engine/upgrade.js";
import { migrations } from "../db/sqlite/migrations/index.js";

// Writes db/sqlite/migrations/new-database.ts from the migrations, as `npm run tables` does
// after a new one. It is committed, so that a review shows what the tables have become.

const db = new Database(":memory:");
addFunctions(db);
for (const migration of migrations) db.exec(migration);
const texts = db
  .prepare<[], string>(
    // SQLite makes its own tables and indexes.
    "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid",
  )
  .pluck()
  .all();
// Those of the log are random, and begin below.
const filled = db
  .prepare<[], string>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('log', 'log_heads')",
  )
  .pluck()
  .all()
  .filter((name) => db.prepare(`SELECT 1 FROM "${name}"`).get() !== undefined);
for (const name of filled) {
  const found = db.prepare(`SELECT * FROM "${name}"`).raw().all();
  for (const row of found as unknown[][]) {
    texts.push(`INSERT INTO "${name}" VALUES (${row.map(sqlOf).join(", ")})`);
  }
}
const literal = texts
  .map((text) => `${text};\n`)
  .join("")
  .replace(/[`\\]|\$\{/g, "\\$&");

/** A value as SQL writes it. */
function sqlOf(value: unknown): string {
  return db.prepare<unknown[], string>("SELECT quote(?)").pluck().get(value)!;
}

await writeFile(
  "db/sqlite/migrations/new-database.ts",
  `import { beginning } from "./0010-log.js";

// Written by \`npm run tables\`.

/**
 * Makes a new database as the first migrations leave it. All of them would take 30 ms of a first
 * start, as they change the tables again and again.
 */
export const newDatabase = {
  /** How many migrations it stands for. */
  version: ${migrations.length},
  sql: /* sql */ \`
${literal}\${beginning("0")}\`,
};
`,
);
