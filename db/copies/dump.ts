import { setImmediate } from "node:timers/promises";
import { Failure } from "../../schemas/plain/failure.js";
import type { Inserted, Sql } from "../domains/domain.js";
import { HAS_FILE } from "../domains/files.js";
import { foldedFieldsIn } from "../rules/user-rows.js";
import { counterOf, type Row, SEQUENCES, type Table, type Value } from "./tables.js";

/** The current state of one of the source's files, according to the live store. */
export type FileFate = "recorded" | "deleted" | "gone with its world";

/** A consistent snapshot of all rows in a store. Other processes may write to the store concurrently. */
export interface TableSource {
  /**
   * Yields a table's rows in key order, in batches of limited size.
   * @param world yields only this world's rows, in the order of the table's counter if there is
   * one.
   */
  rows(table: Table, world?: string): AsyncIterable<readonly Row[]>;
  /** Returns the approximate number of rows in a table, to show progress. */
  count(table: Table): Promise<number>;
  /**
   * Returns a file's current state. Queries the live store, because the file may have been deleted
   * since the snapshot.
   */
  fateOf(key: string): Promise<FileFate>;
  close(): Promise<void>;
}

/** Looks up a file's {@link FileFate} in the rows of a store. */
export async function fateIn(sql: Sql, key: string): Promise<FileFate> {
  const [, world] = key.split("/");
  const found = await sql.one<{ file: number | boolean; world: number | boolean }>(
    `SELECT EXISTS (${HAS_FILE}) AS file,
       EXISTS (SELECT 1 FROM worlds WHERE id = $2) AS world`,
    [key, world],
  );
  if (found!.file) return "recorded";
  return found!.world ? "deleted" : "gone with its world";
}

export const countIn = async (sql: Sql, { name }: Table): Promise<number> =>
  name === "sequences"
    ? SEQUENCES.length
    : (await sql.value<number>(`SELECT count(*) FROM ${name}`))!;

/** Differences between the engines in the SQL that selects the rows to copy. */
export interface CopyDialect {
  /** The id of a chat event `e`, in the form used in joins. */
  readonly eventId: string;
  /** Returns the condition for a chat event that is not gone. */
  readonly isAlive: (event: string) => string;
  /** Returns an expression for a column's value, which is NULL if the value has been erased. */
  readonly unlessErased: (column: string) => string;
}

const ERASABLE: Readonly<Record<string, readonly string[]>> = {
  chat_events: ["content"],
  log: ["audit", "changes", "request"],
};

/** Returns the conditions for the rows to copy. Chat events that are gone or in a deleted channel are omitted. */
function conditionsOf({ name }: Table, { eventId, isAlive }: CopyDialect): string[] {
  const hasEvent = (event: string) =>
    `EXISTS (SELECT 1 FROM chat_events AS e JOIN chat_channels AS c
       ON c.world_id = e.world_id AND c.number = e.channel
     WHERE e.world_id = t.world_id AND ${eventId} = ${event} AND ${isAlive("e")})`;
  if (name === "chat_edits") return [hasEvent("t.event"), hasEvent("t.edit")];
  if (name === "chat_reactions") return [hasEvent("t.event")];
  if (name !== "chat_events") return [];
  return [
    isAlive("t"),
    `EXISTS (SELECT 1 FROM chat_channels AS c
       WHERE c.world_id = t.world_id AND c.number = t.channel)`,
  ];
}

/**
 * Returns the statement that selects a table's rows in key order.
 * @param world an SQL parameter that limits the selection to one world's rows, in the order of the
 * table's counter if there is one.
 */
export function selectionOf(table: Table, dialect: CopyDialect, world?: string): string {
  const columns = table.columns.map(({ name }) =>
    ERASABLE[table.name]?.includes(name) ? dialect.unlessErased(`t.${name}`) : `t.${name}`,
  );
  const own = `t.${table.name === "worlds" ? "id" : "world_id"} = ${world}`;
  const conditions = [...(world === undefined ? [] : [own]), ...conditionsOf(table, dialect)];
  const where = conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : "";
  const counter = world === undefined ? undefined : counterOf(table);
  const order = (counter === undefined ? table.key : [counter]).map((name) => `t.${name}`);
  return `SELECT ${columns.join()} FROM ${table.name} AS t ${where} ORDER BY ${order.join()}`;
}

/** A row that cannot be stored. The message is one line. */
export class UnfitRow extends Failure {}

/** An empty store that receives either all rows or none. */
export interface TableTarget {
  /** Whether the store is empty, so that loading overwrites nothing. */
  isEmpty(): Promise<boolean>;
  /**
   * Loads the rows of a table. Must be called once for each table, in the order of `TABLES`.
   * @throws {UnfitRow} if a row cannot be stored.
   */
  load(table: Table, rows: AsyncIterable<readonly Row[]>): Promise<void>;
  /**
   * Checks that no row references a missing row, and makes all rows visible and durable.
   * @throws {UnfitRow} if a row references a missing row.
   */
  finish(): Promise<void>;
  /** Closes the target. The store is unchanged unless {@link finish} was called. */
  close(): Promise<void>;
}

/** Maximum size of a batch, in rows and (approximately) in characters. */
const BATCH_ROWS = 500;
const BATCH_CHARACTERS = 1024 * 1024;

/** Groups rows into batches of limited size. Yields to the event loop after each full batch. */
export async function* inBatches(rows: Iterable<Row>): AsyncGenerator<readonly Row[]> {
  let batch: Row[] = [];
  let characters = 0;
  for (const row of rows) {
    batch.push(row);
    for (const value of row) {
      if (typeof value === "string") characters += value.length;
    }
    if (batch.length < BATCH_ROWS && characters < BATCH_CHARACTERS) continue;
    yield batch;
    await setImmediate();
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) yield batch;
}

/** The engine-specific parts of loading rows. */
export interface LoadEngine extends Pick<TableTarget, "isEmpty" | "close"> {
  /** Begins a transaction on empty tables, unless it has already begun. */
  readonly begin: () => Promise<Sql>;
  /** Ensures that no new row is ever assigned this number or a lower number. */
  readonly pass: (table: string, number: number) => Promise<void>;
  /** Commits. @throws {UnfitRow} if a row references a missing row. */
  readonly commit: () => Promise<void>;
  /** Matches the codes of database errors that a row's contents cause. */
  readonly refusals: RegExp;
  /** @throws {StoreError} for any database error that `refusals` does not match. */
  readonly explain: (error: unknown) => never;
}

/** Creates a target that loads either all rows into a store or no rows at all. */
export function tableTarget(engine: LoadEngine): TableTarget {
  async function load(table: Table, rows: AsyncIterable<readonly Row[]>): Promise<void> {
    const sql = await engine.begin();
    const names = table.columns.map(({ name }) => name);
    for await (const batch of rows) {
      if (table.name === "sequences") {
        for (const [name, last] of batch) {
          if (!SEQUENCES.some((one) => one === name)) {
            throw new UnfitRow(`there is no sequence ${String(name)}`);
          }
          await engine.pass(name as string, last as number);
        }
        continue;
      }
      const stored = batch.map((row) =>
        storedRow(table, sql, Object.fromEntries(names.map((name, i) => [name, row[i]!]))),
      );
      await sql.insert(table.name, stored);
    }
  }

  return {
    isEmpty: () => engine.isEmpty(),

    async load(table, rows) {
      try {
        await load(table, rows);
      } catch (error) {
        const { code = "", message } = error as { code?: string; message: string };
        if (!engine.refusals.test(code)) engine.explain(error);
        throw new UnfitRow(`a row of ${table.name} cannot be stored: ${message}`);
      }
    },

    async finish() {
      try {
        const sql = await engine.begin();
        await sql.run(COUNT_BYTES);
        await engine.commit();
      } catch (error) {
        engine.explain(error);
      }
    },

    close: () => engine.close(),
  };
}

const COUNT_BYTES = `UPDATE worlds SET file_bytes =
  (SELECT coalesce(sum(size), 0) FROM files WHERE world_id = worlds.id)`;

/** Returns a row in its stored form, including columns that backups omit. */
function storedRow({ name }: Table, { engine }: Sql, row: Record<string, Value>): Inserted {
  if (name === "users") {
    return { ...row, fields_folded: foldedFieldsIn(row.profile as string | null) };
  }
  // SQLite stores erased content as a blob.
  if (name !== "chat_events" || engine === "postgres") return row;
  return { ...row, content: row.content ?? new Uint8Array() };
}
