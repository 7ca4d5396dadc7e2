import { performance } from "node:perf_hooks";
import type { Statement } from "better-sqlite3";
import { Cache } from "../../cache.js";
import type { Connection } from "./connection.js";
import { sameValues } from "../../rules/rows.js";
import { type RowKind, RowMarks } from "../log/row-marks.js";

/**
 * The bound for the values of one kind, in characters as they were read. Parsed, they
 * may take twenty times as much memory.
 */
const MAX_SIZE = 16 * 1024 * 1024;

/** The memory of an entry beside its value, in characters. */
const ENTRY_OVERHEAD = 500;

/**
 * How long a row is used without a look at it, in milliseconds: a login that has no entry in the log
 * changes when the user was last seen. The process that wrote the login knows it at once.
 */
const UNSEEN = 10_000;

/**
 * A cache for values of one kind that are valid until the next write of any process, or the next
 * entry about the rows that they come from.
 */
interface CachedReads<V> {
  /** @param load reads the value, and its size in characters. */
  read(key: string, load: () => { value: V; size: number }): V;
  /** The value, if it was read after the last write. */
  find(key: string): V | undefined;
  /** Keeps a value that was read elsewhere. */
  keep(key: string, value: V, size: number): void;
}

/** A cache for values that are each made from one row and are valid until that row changes. */
interface CachedRows<R extends object, V> {
  /**
   * @param world the world of the row, whose log tells of its changes.
   * @param params select the row.
   * @param row the row, if it has just been selected.
   * @returns undefined if there is no such row, which is not cached.
   */
  read(
    world: string,
    key: string,
    params: string[],
    make: (row: R) => V,
    row?: R,
  ): V | undefined;
  /** Keeps a value made from a row that was just written. It is compared with the row before its first use. */
  keep(key: string, row: R, value: V): void;
}

/** A value that was made from a row. */
interface Kept<R, V> {
  readonly row: R;
  readonly value: V;
  /** The mark of the log at the last look that found the row unchanged; -1 before the first look. */
  seen: number;
  /** When it has to be compared all the same, in milliseconds of the process. */
  until: number;
}

/** How often the event loop has polled its sockets (`uv_metrics_info`). */
const polls = (): number => performance.nodeTiming.uvMetricsInfo.loopCount;

/**
 * The reads of one connection, with a cache of their results. Every read calls
 * {@link enter} first.
 *
 * All reads within one turn of the event loop see one state of the database. The
 * first read begins a transaction, which ends with the turn. So the statements
 * of one read are consistent, and SQLite looks into shared memory once in a turn
 * instead of once for each statement. Reads see writes of other processes from the
 * next turn on, and writes of this process after {@link refresh}.
 *
 * A turn begins when the event loop polls its sockets, and not with its timers: a request
 * that arrives after a timer has read may come from a client to which another process has
 * confirmed a write in between.
 *
 * `PRAGMA data_version` changes with every commit of another connection. The
 * connection of this cache never writes, so an unchanged number means an unchanged
 * database.
 */
export class ReadCache {
  readonly #db: Connection;
  readonly #begin;
  readonly #version;
  readonly #marks: RowMarks;
  readonly #commit;
  readonly #rollBack;
  readonly #caches: Cache<unknown>[] = [];
  /** The state that the caches hold. */
  #seen = -1;
  #reading = false;
  /** The turn in which the transaction began. */
  #turn = -1;
  #ending = false;

  constructor(db: Connection) {
    this.#db = db;
    this.#begin = db.prepare("BEGIN");
    this.#version = db.prepare<[], number>("PRAGMA data_version").pluck();
    this.#marks = new RowMarks(db);
    this.#commit = db.prepare("COMMIT");
    this.#rollBack = db.prepare("ROLLBACK");
  }

  /** The number of the state that all reads see until the turn ends. */
  get state(): number {
    this.enter();
    return this.#seen;
  }

  /** Makes the next read see everything that is committed by now. */
  refresh(): void {
    this.#reading = false;
    if (!this.#db.open || !this.#db.inTransaction) return;
    try {
      this.#commit.run();
    } catch {
      // On a damaged database, even ending a read can fail. Nothing was written, so
      // nothing is lost, and the next read reports the damage.
      if (this.#db.inTransaction) this.#rollBack.run();
    }
  }

  /**
   * A cache for values of one kind.
   * @param size the bound for all of them, in characters as they were read.
   * @param world the world whose log ends them, when its places change; by default, any commit does.
   */
  reads<V>(size = MAX_SIZE, world?: string): CachedReads<V> {
    const cache = new Cache<V>(size);
    if (world === undefined) this.#caches.push(cache);
    let seen = -1;
    const find = (key: string) => {
      if (world !== undefined) {
        const mark = this.#marks.of(world, "places", this.#seen);
        if (mark !== seen) cache.clear();
        seen = mark;
      }
      return cache.get(key);
    };
    const keep = (key: string, value: V, size: number) =>
      cache.set(key, value, ENTRY_OVERHEAD + key.length + size);
    return {
      find,
      keep,
      read(key, load) {
        const known = find(key);
        if (known !== undefined) return known;
        const { value, size } = load();
        keep(key, value, size);
        return value;
      },
    };
  }

  /**
   * A cache for values that stay valid when other rows are written. While the log of the world tells of
   * no change, a row is the same; otherwise, and after {@link UNSEEN}, it is compared.
   * @param select selects a row.
   * @param kind of the rows.
   */
  rows<R extends object, V>(
    select: Statement<string[], R>,
    kind: RowKind,
  ): CachedRows<R, V> {
    const cache = new Cache<Kept<R, V>>(MAX_SIZE);
    const isStored = rowComparison(this.#db, select);
    // The row and its JSON take about the same memory.
    const keep = (key: string, row: R, value: V, seen = -1) =>
      cache.set(
        key,
        { row, value, seen, until: performance.now() + UNSEEN },
        ENTRY_OVERHEAD + 2 * textSizeOf(row),
      );
    return {
      keep,
      read: (world, key, params, make, row) => {
        const known = cache.get(key);
        const mark = this.#marks.of(world, kind, this.#seen);
        const now = performance.now();
        if (known?.seen === mark && now < known.until) return known.value;
        if (
          known &&
          (row ? sameValues(known.row, row) : isStored(params, known.row))
        ) {
          known.seen = mark;
          known.until = now + UNSEEN;
          return known.value;
        }
        row ??= select.get(...params);
        if (!row) return undefined;
        const value = make(row);
        keep(key, row, value, mark);
        return value;
      },
    };
  }

  /** Makes all reads until the end of this turn see one state. */
  enter(): void {
    const turn = polls();
    if (this.#reading) {
      if (turn === this.#turn) return;
      this.refresh();
    }
    this.#turn = turn;
    this.#begin.run();
    try {
      const version = this.#version.get()!;
      if (version !== this.#seen) {
        for (const cache of this.#caches) cache.clear();
        this.#seen = version;
      }
    } catch (error) {
      this.refresh();
      throw error;
    }
    this.#reading = true;
    if (this.#ending) return;
    this.#ending = true;
    setImmediate(this.#endTurn);
  }

  readonly #endTurn = (): void => {
    this.#ending = false;
    this.refresh();
  };
}

/**
 * Compares rows with the stored ones. SQLite does that, because reading a row into
 * objects and strings of JavaScript takes twice as long, and three times if it is large.
 * @returns a function that tells whether a statement would select the same row again.
 */
function rowComparison<R extends object>(
  db: Connection,
  select: Statement<string[], R>,
): (params: readonly string[], row: R) => boolean {
  const names = select.columns().map(({ name }) => name as keyof R & string);
  const values = names.map((name) => `${name} IS ?`).join(" AND ");
  const find = db.prepare<unknown[]>(
    `SELECT 1 FROM (${select.source}) WHERE ${values}`,
  );
  return (params, row) =>
    find.get([...params, ...names.map((name) => row[name])]) !== undefined;
}

export function textSizeOf(row: object = {}): number {
  let size = 0;
  for (const value of Object.values(row)) {
    if (typeof value === "string") size += value.length;
  }
  return size;
}
