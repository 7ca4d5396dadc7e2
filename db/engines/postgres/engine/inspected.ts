import type pg from "pg";
import { TABLES } from "../../../copies/tables.js";
import type { Sql } from "../../../domains/sql.js";
import type { InspectedDatabase } from "../../../maintenance/inspector.js";
import { POSTGRES } from "../../../rules/contradictions.js";
import { baseline } from "../../../schema/baseline.js";
import { forPostgres } from "../../../schema/dialects.js";
import { migrations } from "../../../schema/migrations.js";
import { end, explain } from "./client.js";
import { sqlOn } from "./sql.js";
import { connectToTables } from "./upgrade.js";

/** All tables that hold rows. */
const HELD = [
  ...TABLES.map(({ name }) => name).filter((name) => name !== "sequences"),
  "chat_remains",
  "erasures",
  "cluster",
];

/** The indexes that this version has, without the indexes of keys. */
const INDEXES = new Set<string>();
const steps = [baseline, ...migrations].map(forPostgres).join("\n");
for (const [, step, name] of steps.matchAll(/(CREATE|DROP) (?:UNIQUE )?INDEX (\w+)/g)) {
  if (step === "CREATE") INDEXES.add(name!);
  else INDEXES.delete(name!);
}

const SELECT_INDEXES = `SELECT c.relname::text AS name, i.indisvalid AND i.indisready AS valid
  FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
  WHERE pg_table_is_visible(i.indrelid)`;

/**
 * Opens a database for a check.
 * @throws {StoreError} `unusable` if it cannot be reached, or is of another Foyer.
 */
export async function inspectedPostgres(url: string): Promise<InspectedDatabase> {
  const client = await connectToTables(url);
  const query = (config: pg.QueryConfig) => client.query(config).catch(explain);
  const sql = sqlOn(query);
  return {
    sql,
    dialect: POSTGRES,
    damage: () => damageIn(sqlOn((config) => client.query(config))).catch(explain),
    async snapshot(read) {
      await query({ text: "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY" });
      const found = await read();
      await query({ text: "COMMIT" });
      return found;
    },
    // PostgreSQL checks every reference itself.
    dangling: async () => [],
    close: () => end(client),
  };
}

/** Tables that cannot be read, and indexes that do not work. */
async function damageIn(sql: Sql): Promise<string[]> {
  const damage: string[] = [];
  for (const table of HELD) {
    try {
      // Every value of every row, wherever it is stored.
      await sql.value(`SELECT count(md5(t::text)) FROM ${table} AS t`);
    } catch (error) {
      const { code = "", message } = error as Error & { code?: string };
      // Errors of files and of what is in them.
      if (!/^(58|XX)/.test(code)) throw error;
      damage.push(`the table ${table} cannot be read: ${message}`);
    }
  }
  const indexes = await sql.all<{ name: string; valid: boolean }>(SELECT_INDEXES);
  for (const { name, valid } of indexes) {
    if (!valid) damage.push(`the index ${name} is invalid`);
  }
  const known = new Set(indexes.map(({ name }) => name));
  for (const name of INDEXES) {
    if (!known.has(name)) damage.push(`the index ${name} is missing`);
  }
  return damage;
}
