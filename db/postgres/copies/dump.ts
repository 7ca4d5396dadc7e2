import pg from "pg";
import { Failure } from "../../../schemas/plain/failure.js";
import { addressOf } from "../../choice.js";
import {
  restOf,
  type TableSource,
  type TableTarget,
  UnfitRow,
} from "../../copies/dump.js";
import { StoreError } from "../../contract/store.js";
import {
  FORMER_SEQUENCE,
  type Row,
  SEQUENCES,
  type Table,
  TABLES,
} from "../../copies/tables.js";
import { loaded } from "../../copies/loaded.js";
import { end } from "../engine/client.js";
import { connect, connectToTables } from "../engine/connect.js";
import { explain } from "../engine/errors.js";
import { NODES } from "../engine/locks.js";
import { passAudit } from "../../shared/migrations/audit-in-log.js";
import { beginLogs } from "../migrations/0004-log.js";
import { encodedText, sqlOn, types } from "../engine/sql.js";
import { commit } from "../engine/transaction.js";
import { upgrade, versionOf } from "../engine/upgrade.js";

/** About how many characters a batch has, and how many rows at most. */
const BATCH_CHARACTERS = 2 * 1024 * 1024;
const BATCH_ROWS = 1000;
/** The number of rows in the first batch of a table, while their size is unknown. */
const FIRST_ROWS = 50;

/** Only events that are not of a deleted channel. */
const ALIVE = (event: string) =>
  `EXISTS (SELECT 1 FROM chat_events AS e JOIN chat_channels AS c
     ON c.world_id = e.world_id AND c.number = e.channel
   WHERE e.world_id = t.world_id AND e.id + 0 = ${event})`;

const CONDITIONS: Readonly<Record<string, string>> = {
  chat_events: `EXISTS (SELECT 1 FROM chat_channels AS c
    WHERE c.world_id = t.world_id AND c.number = t.channel)`,
  chat_edits: `${ALIVE("t.event")} AND ${ALIVE("t.edit")}`,
  chat_reactions: `${ALIVE("t.event")}`,
};

/** The last number that a table was given. */
const lastOf = (name: string): string =>
  `coalesce(pg_sequence_last_value(pg_get_serial_sequence('${name}', 'number')::regclass), 0)`;

function selectionOf(table: Table, world?: string): string {
  if (table.name === "sequences") {
    return SEQUENCES.map(
      (name) => `SELECT '${name}' COLLATE "C" AS name, ${lastOf(name)} AS last`,
    ).join(" UNION ALL ");
  }
  const columns = table.columns.map(({ name }) => `t.${name}`);
  const conditions = [CONDITIONS[table.name] ?? []].flat();
  const own =
    world === undefined ? undefined : pg.escapeLiteral(encodedText(world));
  return `SELECT ${columns.join()} FROM ${table.name} AS t
    ${restOf(table, conditions, own)}`;
}

/**
 * The rows of a database, as they are now. Servers may write meanwhile.
 * @throws {StoreError} `unusable` with one line for the operator.
 */
export async function postgresSource(url: string): Promise<TableSource> {
  const client = await connectToTables(url);
  try {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
    // The first statement is the moment.
    await client.query("SELECT 1 FROM worlds");
  } catch (error) {
    await end(client);
    return explain(error);
  }

  async function* rows(
    table: Table,
    world?: string,
  ): AsyncGenerator<readonly Row[]> {
    try {
      await client.query(
        `DECLARE dump NO SCROLL CURSOR FOR ${selectionOf(table, world)}`,
      );
      let count = FIRST_ROWS;
      for (;;) {
        const text = `FETCH ${count} FROM dump`;
        const batch = (
          await client.query<Row[number][]>({ text, types, rowMode: "array" })
        ).rows;
        if (batch.length === 0) break;
        yield batch;
        const characters = batch.reduce((sum, row) => sum + sizeOf(row), 0);
        const fitting = (BATCH_CHARACTERS * batch.length) / characters;
        count = Math.max(
          1,
          Math.min(2 * count, BATCH_ROWS, Math.floor(fitting)),
        );
      }
      await client.query("CLOSE dump");
    } catch (error) {
      explain(error);
    }
  }

  return {
    rows,
    async count({ name }) {
      if (name === "sequences") return SEQUENCES.length;
      const { rows } = await client
        .query<{ count: number }>({
          text: `SELECT count(*) FROM ${name}`,
          types,
        })
        .catch(explain);
      return rows[0]!.count;
    },
    async fateOf(key) {
      const live = await connect(url);
      try {
        const [, world] = key.split("/");
        const found = await sqlOn((query) => live.query(query)).one<{
          file: boolean;
          world: boolean;
        }>(
          `SELECT EXISTS (SELECT 1 FROM files WHERE key = $1) AS file,
             EXISTS (SELECT 1 FROM worlds WHERE id = $2) AS world`,
          [key, world],
        );
        if (found!.file) return "recorded";
        return found!.world ? "deleted" : "gone with its world";
      } catch (error) {
        return explain(error);
      } finally {
        await end(live);
      }
    },
    close: () => end(client),
  };
}

/** About how many characters a row has. */
const sizeOf = (row: Row): number =>
  row.reduce<number>(
    (sum, value) => sum + (typeof value === "string" ? value.length : 8),
    0,
  );

/**
 * A database without worlds. All rows come in one transaction. While it lasts, no
 * server may use the database.
 * @throws {StoreError} `unusable` with one line for the operator.
 */
export async function postgresTarget(url: string): Promise<TableTarget> {
  const client = await connect(url);
  const sql = sqlOn((query) => client.query(query));
  let begun = false;
  /** The last id of an event that an older backup names. */
  let lastId = 0;

  /** Creates the tables if there are none, and begins the transaction. */
  async function begin(): Promise<void> {
    if (begun) return;
    await upgrade(client, { create: true, upgrade: false });
    await client.query("BEGIN");
    begun = true;
    // No other process has written since isEmpty, and none does before the end.
    await client.query("LOCK TABLE worlds IN EXCLUSIVE MODE");
    if (await hasRows()) {
      throw new Failure(`${addressOf(url)} is not empty`);
    }
    // The logs come with the rows.
    await client.query("DELETE FROM log; DELETE FROM log_heads");
  }

  async function hasRows(): Promise<boolean> {
    // The tables of the log do not count: they may name rows that are gone.
    const found = [...TABLES.map(({ name }) => name), "chat_remains"]
      .filter((name) => !/^(sequences|log|log_heads)$/.test(name))
      .map((name) => `EXISTS (SELECT 1 FROM ${name})`);
    return (await sql.value<boolean>(`SELECT ${found.join(" OR ")}`))!;
  }

  return {
    async isEmpty() {
      const free = await sql
        .value<boolean>(`SELECT pg_try_advisory_lock(${NODES})`)
        .catch(explain);
      if (!free) {
        throw new StoreError(
          "unusable",
          `servers use ${addressOf(url)}; stop them first`,
        );
      }
      try {
        return (await versionOf(client)) === 0 || !(await hasRows());
      } catch (error) {
        return explain(error);
      }
    },

    async load(table, rows) {
      try {
        await begin();
        const [stored, complete] = loaded(table);
        const insert = insertionOf(stored);
        for await (const batch of rows) {
          if (table.name === "sequences") await setSequences(batch);
          else {
            const whole = batch.map(complete);
            const columns = stored.columns.map((_, i) =>
              whole.map((row) => row[i]),
            );
            await sql.run(insert, columns);
          }
        }
      } catch (error) {
        explainRow(table, error);
      }
    },

    async finish() {
      try {
        await begin();
        await sql.run(
          `UPDATE worlds SET file_bytes =
             (SELECT coalesce(sum(size), 0) FROM files WHERE world_id = worlds.id)`,
        );
        await passSequences();
        const last = `(SELECT greatest(${lastId}, max(id)) FROM chat_events)`;
        await client.query(beginLogs("SELECT id FROM worlds", last));
        await client.query(passAudit);
        await client.query("ANALYZE");
        await commit(client);
      } catch (error) {
        explain(error);
      }
    },

    // Without a commit, the server undoes everything.
    close: () => end(client),
  };

  async function setSequences(rows: readonly Row[]): Promise<void> {
    for (const [name, last] of rows) {
      if (name === FORMER_SEQUENCE) {
        lastId = last as number;
        continue;
      }
      if (!SEQUENCES.some((one) => one === name)) {
        throw new UnfitRow(`there is no sequence ${String(name)}`);
      }
      if ((last as number) < 1) continue;
      await sql.run("SELECT setval(pg_get_serial_sequence($1, 'number'), $2)", [
        name,
        last,
      ]);
    }
  }

  /** No sequence gives a number that is there. */
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

function insertionOf({ name, columns }: Table): string {
  const names = columns.map((column) => column.name);
  const values = columns.map(
    ({ kind }, i) => `$${i + 1}::${kind === "text" ? "text" : "bigint"}[]`,
  );
  return `INSERT INTO ${name} (${names.join()}) SELECT * FROM unnest(${values.join()})`;
}

/** The reason, in one line, why a row cannot be in the database. */
function explainRow({ name }: Table, error: unknown): never {
  const { code = "", message } = error as { code?: string; message: string };
  // The contents of a row break a rule of its table.
  if (!code.startsWith("23")) return explain(error);
  throw new UnfitRow(`a row of ${name} cannot be stored: ${message}`);
}
