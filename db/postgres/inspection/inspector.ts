import { type Found, POSTGRES, rulesIn } from "../../rules/contradictions.js";
import type { Inspector } from "../../maintenance/inspector.js";
import type { RowCounts } from "../../sqlite/inspection/inspection.js";
import type { FileDigest } from "../../contract/store.js";
import { TABLES } from "../../copies/tables.js";
import { end } from "../engine/client.js";
import { connectToTables } from "../engine/connect.js";
import { explain } from "../engine/errors.js";
import { migrations } from "../migrations/index.js";
import type { Sql } from "../../shared/sql.js";
import { sqlOn } from "../engine/sql.js";

/** How many records are read at a time. */
const PAGE = 1000;

/** All tables that hold rows. */
const HELD = [
  ...TABLES.map(({ name }) => name).filter((name) => name !== "sequences"),
  "chat_remains",
  "cluster",
];

/** The indexes that the migrations make and do not drop, without the indexes of keys. */
const INDEXES = new Set<string>();
for (const { tables } of migrations) {
  const steps = tables.matchAll(/(CREATE|DROP) (?:UNIQUE )?INDEX (\w+)/g);
  for (const [, step, name] of steps) {
    if (step === "CREATE") INDEXES.add(name!);
    else INDEXES.delete(name!);
  }
}

const SELECT_INDEXES = `SELECT c.relname::text AS name, i.indisvalid AND i.indisready AS valid
  FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
  WHERE pg_table_is_visible(i.indrelid)`;

/**
 * Opens a database for a check. Servers may write to it meanwhile.
 * @throws {StoreError} `unusable` if it cannot be reached, or is of another Foyer.
 */
export async function postgresInspector(url: string): Promise<Inspector> {
  const client = await connectToTables(url);
  const sql = sqlOn((query) => client.query(query));
  const read = <T>(what: () => Promise<T>): Promise<T> => what().catch(explain);
  return {
    damage: () => read(() => damageIn(sql)),

    // PostgreSQL keeps no note of what a killed process had yet to vacuum: autovacuum removes it.
    overdue: async () => [],
    contradictions: () =>
      read(async () => {
        await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
        const found: string[] = [];
        for (const [rule, words] of rulesIn(POSTGRES)) {
          for (const one of await sql.all<Found>(rule)) found.push(words(one));
        }
        await client.query("COMMIT");
        return found;
      }),

    counts: () =>
      read(
        async () =>
          (await sql.one<RowCounts>(
            `SELECT (SELECT count(*) FROM worlds) AS worlds, (SELECT count(*) FROM rooms) AS rooms,
               (SELECT count(*) FROM files) AS files,
               (SELECT count(*) FROM chat_events) AS chat_events,
               (SELECT count(*) FROM questions) AS questions, (SELECT count(*) FROM polls) AS polls`,
          ))!,
      ),

    bytes: () =>
      read(
        async () =>
          (await sql.value<number>(
            "SELECT coalesce(sum(size), 0) AS bytes FROM files",
          ))!,
      ),

    records: (after) =>
      read(() =>
        sql.all<FileDigest>(
          `SELECT key, size, sha256 FROM files WHERE key > $1 ORDER BY key LIMIT ${PAGE}`,
          [after],
        ),
      ),

    has: (key) =>
      read(
        async () =>
          (await sql.one("SELECT 1 FROM files WHERE key = $1", [key])) !==
          undefined,
      ),

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
  const indexes = await sql.all<{ name: string; valid: boolean }>(
    SELECT_INDEXES,
  );
  for (const { name, valid } of indexes) {
    if (!valid) damage.push(`the index ${name} is invalid`);
  }
  const known = new Set(indexes.map(({ name }) => name));
  for (const name of INDEXES) {
    if (!known.has(name)) damage.push(`the index ${name} is missing`);
  }
  return damage;
}
