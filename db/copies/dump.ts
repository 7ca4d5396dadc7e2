import { setImmediate } from "node:timers/promises";
import { Failure } from "../../schemas/plain/failure.js";
import type { Inserted, Sql } from "../domains/domain.js";
import { HAS_FILE } from "../domains/files.js";
import { foldedFieldsIn } from "../rules/user-rows.js";
import { counterOf, type Row, SEQUENCES, type Table, type Value } from "./tables.js";

/** The present state of a file in the source, by the live store. */
export type FileFate = "recorded" | "deleted" | "gone with its world";

/** All rows of a store, as they are at one moment. Others may write to the store meanwhile. */
export interface TableSource {
  /**
   * The rows of a table in the order of its key, in batches of bounded size.
   * @param world only the rows of this world, in the order of their counter if there is one.
   */
  rows(table: Table, world?: string): AsyncIterable<readonly Row[]>;
  /** About how many rows a table has, to show progress. */
  count(table: Table): Promise<number>;
  /** Asks the live store, because a file of the source may have been deleted since. */
  fateOf(key: string): Promise<FileFate>;
  close(): Promise<void>;
}

/** The {@link FileFate} of a file by the rows of a store. */
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

/** What engines say differently when they select the rows of copies. */
export interface CopyDialect {
  /** The id of an event `e` of chat, as a join compares it. */
  readonly eventId: string;
  /** A condition for an event of chat that is not over. */
  readonly isAlive: (event: string) => string;
  /** The value of a column: NULL where it was erased. */
  readonly unlessErased: (column: string) => string;
}

const ERASABLE: Readonly<Record<string, readonly string[]>> = {
  chat_events: ["content"],
  log: ["audit", "changes", "request"],
};

/** Which rows are copied: of chat, nothing that is over or of a deleted channel. */
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
 * The statement that selects the rows of a table in the order of its key.
 * @param world a parameter, to select the rows of one world in the order of their counter.
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

/** A row cannot be in a store. The message is one line. */
export class UnfitRow extends Failure {}

/** An empty store that gets all rows or none. */
export interface TableTarget {
  /** Whether nothing would be lost. */
  isEmpty(): Promise<boolean>;
  /**
   * Loads the rows of a table. The tables come in the order of `TABLES`, each once.
   * @throws {UnfitRow} if one cannot be in the store.
   */
  load(table: Table, rows: AsyncIterable<readonly Row[]>): Promise<void>;
  /**
   * Checks that no row refers to a missing one, and makes all rows visible and durable.
   * @throws {UnfitRow} if one does.
   */
  finish(): Promise<void>;
  /** Ends. Without {@link finish}, the store is as it was. */
  close(): Promise<void>;
}

/** How many rows a batch has at most, and about how many characters. */
const BATCH_ROWS = 500;
const BATCH_CHARACTERS = 1024 * 1024;

/** Puts rows into batches of bounded size. Others run between two batches. */
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

/** What an engine does in its own way while rows are loaded. */
export interface LoadEngine extends Pick<TableTarget, "isEmpty" | "close"> {
  /** Begins a transaction on empty tables, if it has not begun. */
  readonly begin: () => Promise<Sql>;
  /** No row that comes later gets a number up to this one. */
  readonly pass: (table: string, number: number) => Promise<void>;
  /** Commits. @throws {UnfitRow} if a row refers to a missing one. */
  readonly commit: () => Promise<void>;
  /** The codes of errors about the contents of a row. */
  readonly refusals: RegExp;
  /** @throws {StoreError} for any other error of the database. */
  readonly explain: (error: unknown) => never;
}

/** The tables of a store that gets all rows or none. */
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

/** A row as it is stored, with the columns that backups lack. */
function storedRow({ name }: Table, { engine }: Sql, row: Record<string, Value>): Inserted {
  if (name === "users") {
    return { ...row, fields_folded: foldedFieldsIn(row.profile as string | null) };
  }
  // SQLite has a blob in place of an erased content.
  if (name !== "chat_events" || engine === "postgres") return row;
  return { ...row, content: row.content ?? new Uint8Array() };
}
