import pg from "pg";
import { Failure } from "../../../../schemas/plain/failure.js";
import { addressOf } from "../../../choice.js";
import { StoreError } from "../../../contract/store.js";
import {
  type CopyDialect,
  countIn,
  fateIn,
  selectionOf,
  type TableSource,
  type TableTarget,
  tableTarget,
} from "../../../copies/dump.js";
import { type Row, SEQUENCES, type Table, TABLES } from "../../../copies/tables.js";
import type { Sql } from "../../../domains/domain.js";
import type { InspectedDatabase } from "../../../maintenance/inspector.js";
import { POSTGRES } from "../../../rules/contradictions.js";
import { baseline } from "../../../schema/baseline.js";
import { forPostgres, migrations } from "../../../schema/migrations.js";
import { end, explain } from "../engine/pg-client.js";
import { encodedText, NODES, sqlOn, types } from "../engine/postgres-sql.js";
import { connect, connectToTables, upgrade, versionOf } from "../engine/postgres-upgrade.js";
import { commit } from "../engine/transaction.js";

/** Maximum size of a batch, in (approximate) characters and in rows. */
const BATCH_CHARACTERS = 2 * 1024 * 1024;
const BATCH_ROWS = 1000;
/** Number of rows in a table's first batch, while the size of a row is still unknown. */
const FIRST_ROWS = 50;

const DIALECT: CopyDialect = {
  // The addition keeps the planner from looking up events one by one in an index.
  eventId: "e.id + 0",
  isAlive: () => "TRUE",
  unlessErased: (column) => column,
};

const lastOf = (name: string): string =>
  `coalesce(pg_sequence_last_value(pg_get_serial_sequence('${name}', 'number')::regclass), 0)`;

function rowsOf(table: Table, world?: string): string {
  if (table.name !== "sequences") {
    const own = world === undefined ? undefined : pg.escapeLiteral(encodedText(world));
    return selectionOf(table, DIALECT, own);
  }
  return SEQUENCES.map(
    (name) => `SELECT '${name}' COLLATE "C" AS name, ${lastOf(name)} AS last`,
  ).join(" UNION ALL ");
}

/**
 * Opens a snapshot of a database's rows. Servers may write to the database concurrently.
 * @throws {StoreError} `unusable`, with a one-line message for the operator.
 */
export async function postgresSource(url: string): Promise<TableSource> {
  const client = await connectToTables(url);
  try {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
    // PostgreSQL takes the snapshot at the transaction's first query.
    await client.query("SELECT 1 FROM worlds");
  } catch (error) {
    await end(client);
    return explain(error);
  }

  async function* rows(table: Table, world?: string): AsyncGenerator<readonly Row[]> {
    try {
      await client.query(`DECLARE dump NO SCROLL CURSOR FOR ${rowsOf(table, world)}`);
      let count = FIRST_ROWS;
      for (;;) {
        const text = `FETCH ${count} FROM dump`;
        const batch = (await client.query<Row[number][]>({ text, types, rowMode: "array" })).rows;
        if (batch.length === 0) break;
        yield batch;
        const characters = batch.reduce((sum, row) => sum + sizeOf(row), 0);
        const fitting = (BATCH_CHARACTERS * batch.length) / characters;
        count = Math.max(1, Math.min(2 * count, BATCH_ROWS, Math.floor(fitting)));
      }
      await client.query("CLOSE dump");
    } catch (error) {
      explain(error);
    }
  }

  return {
    rows,
    count: (table) =>
      countIn(
        sqlOn((query) => client.query(query)),
        table,
      ).catch(explain),
    async fateOf(key) {
      const live = await connect(url);
      try {
        return await fateIn(
          sqlOn((query) => live.query(query)),
          key,
        );
      } catch (error) {
        return explain(error);
      } finally {
        await end(live);
      }
    },
    close: () => end(client),
  };
}

/** Returns a row's approximate size, in characters. */
const sizeOf = (row: Row): number =>
  row.reduce<number>((sum, value) => sum + (typeof value === "string" ? value.length : 8), 0);

/**
 * Opens a database without worlds, to load all rows in one transaction. No server may use the
 * database during that time.
 * @throws {StoreError} `unusable`, with a one-line message for the operator.
 */
export async function postgresTarget(url: string): Promise<TableTarget> {
  const client = await connect(url);
  const sql = sqlOn((query) => client.query(query));
  let begun = false;

  /** Creates the tables if they are missing, and begins the transaction. */
  async function begin(): Promise<Sql> {
    if (begun) return sql;
    await upgrade(client, { create: true, upgrade: false });
    await client.query("BEGIN");
    begun = true;
    // Keep other processes from writing until the transaction ends. The check below covers writes
    // since `isEmpty`.
    await client.query("LOCK TABLE worlds IN EXCLUSIVE MODE");
    if (await hasRows()) {
      throw new Failure(`${addressOf(url)} is not empty`);
    }
    // The logs are loaded along with all other rows.
    await client.query("DELETE FROM log; DELETE FROM log_heads");
    return sql;
  }

  async function hasRows(): Promise<boolean> {
    // Ignore the log tables, because they may name rows that are gone.
    const found = [...TABLES.map(({ name }) => name), "chat_remains"]
      .filter((name) => !/^(sequences|log|log_heads)$/.test(name))
      .map((name) => `EXISTS (SELECT 1 FROM ${name})`);
    return (await sql.value<boolean>(`SELECT ${found.join(" OR ")}`))!;
  }

  return tableTarget({
    begin,

    async isEmpty() {
      const free = await sql.value<boolean>(`SELECT pg_try_advisory_lock(${NODES})`).catch(explain);
      if (!free) {
        throw new StoreError("unusable", `servers use ${addressOf(url)}; stop them first`);
      }
      try {
        return (await versionOf(client)) === 0 || !(await hasRows());
      } catch (error) {
        return explain(error);
      }
    },

    async pass(table, number) {
      if (number < 1) return;
      await sql.run("SELECT setval(pg_get_serial_sequence($1, 'number'), $2)", [table, number]);
    },

    async commit() {
      await passSequences();
      await client.query("ANALYZE");
      await commit(client);
    },

    // Without a commit, the database server rolls everything back.
    close: () => end(client),

    refusals: /^23/,
    explain,
  });

  /** Advances each sequence past the highest existing number. */
  async function passSequences(): Promise<void> {
    const all = await sql.all<{ name: string; column: string }>(
      `SELECT relname::text AS name, attname::text AS column
       FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
       WHERE attidentity <> '' AND pg_table_is_visible(pg_class.oid)`,
    );
    for (const { name, column } of all) {
      const [table, id] = [name, column].map((one) => pg.escapeIdentifier(one));
      await sql.run(
        `SELECT setval(sequence, max) FROM (SELECT max(${id}) AS max FROM ${table}) AS rows,
           pg_get_serial_sequence($1, $2) AS sequence
         WHERE max > coalesce(pg_sequence_last_value(sequence::regclass), 0)`,
        [name, column],
      );
    }
  }
}

const HELD = [
  ...TABLES.map(({ name }) => name).filter((name) => name !== "sequences"),
  "chat_remains",
  "erasures",
  "cluster",
];

/** The indexes in this version of the schema, excluding primary-key indexes. */
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
 * @throws {StoreError} `unusable` if the database is unreachable, or belongs to another version of
 * Foyer.
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
    // PostgreSQL enforces every reference itself.
    dangling: async () => [],
    close: () => end(client),
  };
}

/** Lists unreadable tables, and indexes that are invalid or missing. */
async function damageIn(sql: Sql): Promise<string[]> {
  const damage: string[] = [];
  for (const table of HELD) {
    try {
      // Forces a read of every value in every row, including out-of-line storage.
      await sql.value(`SELECT count(md5(t::text)) FROM ${table} AS t`);
    } catch (error) {
      const { code = "", message } = error as Error & { code?: string };
      // These codes are system and internal errors, such as unreadable or corrupted files.
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
