import { performance } from "node:perf_hooks";
import type { Statement } from "better-sqlite3";
import { Cache } from "../../cache.js";
import type { Connection } from "./connection.js";
import { sameValues } from "../../rules/rows.js";

/**
 * The bound for the values of one kind, in characters as they were read. Parsed, they
 * may take twenty times as much memory.
 */
const MAX_SIZE = 16 * 1024 * 1024;

/** The memory of an entry beside its value, in characters. */
const ENTRY_OVERHEAD = 500;

/**
 * A cache for values of one kind that are valid until the next write of any process, or the next
 * change that is counted.
 */
interface CachedReads<V> {
  /** @param load reads the value, and its size in characters. */
  read(key: string, load: () => { value: V; size: number }): V;
  /** The value, if it was read after the last write. */
  find(key: string): V | undefined;
  /** Keeps a value that was read elsewhere. */
  keep(key: string, value: V, size: number): void;
}

/**
 * Whose changes the database counts: worlds, rooms and issuers together, or users. Triggers do,
 * so it counts the writes of every process.
 */
type Counted = "places" | "users";

/** The numbers of changes in one state of the database. */
type Counts = Readonly<Record<Counted, number>>;

/** A cache for values that are each made from one row and are valid until that row changes. */
interface CachedRows<R extends object, V> {
  /**
   * @param params select the row.
   * @param row the row, if it has just been selected.
   * @returns undefined if there is no such row, which is not cached.
   */
  read(
    key: string,
    params: string[],
    make: (row: R) => V,
    row?: R,
  ): V | undefined;
  /** Keeps a value made from a row that was just written. It is compared with the row before its first use. */
  keep(key: string, row: R, value: V): void;
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
  readonly #counts;
  readonly #commit;
  readonly #rollBack;
  readonly #caches: Cache<unknown>[] = [];
  /** The state that the caches hold. */
  #seen = -1;
  /** The counts of that state, once something asked for them. */
  #counted: Counts | undefined;
  #reading = false;
  /** The turn in which the transaction began. */
  #turn = -1;
  #ending = false;

  constructor(db: Connection) {
    this.#db = db;
    this.#begin = db.prepare("BEGIN");
    this.#version = db.prepare<[], number>("PRAGMA data_version").pluck();
    this.#counts = db.prepare<[], Counts>(
      // The users of a deleted world are not counted by themselves.
      "SELECT places, places + users AS users FROM row_changes",
    );
    this.#commit = db.prepare("COMMIT");
    this.#rollBack = db.prepare("ROLLBACK");
  }

  /** The number of the state that all reads see until the turn ends. */
  get state(): number {
    this.enter();
    return this.#seen;
  }

  /** How often rows had changed in the state that all reads see until the turn ends. */
  #changesOf(counted: Counted): number {
    this.#counted ??= this.#counts.get()!;
    return this.#counted[counted];
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
   * @param counted the changes that end them; by default, any commit does.
   */
  reads<V>(size = MAX_SIZE, counted?: Counted): CachedReads<V> {
    const cache = new Cache<V>(size);
    if (counted === undefined) this.#caches.push(cache);
    let seen = -1;
    const find = (key: string) => {
      if (counted !== undefined) {
        const changes = this.#changesOf(counted);
        if (changes !== seen) cache.clear();
        seen = changes;
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
   * A cache for values that stay valid when other rows are written. While the count of changes
   * stays the same, so does every row; otherwise a row is compared.
   * @param select selects a row.
   * @param counted counts each change of such a row.
   */
  rows<R extends object, V>(
    select: Statement<string[], R>,
    counted: Counted,
  ): CachedRows<R, V> {
    const cache = new Cache<{ row: R; value: V; seen: number }>(MAX_SIZE);
    const isStored = rowComparison(this.#db, select);
    // The row and its JSON take about the same memory.
    const keep = (key: string, row: R, value: V, seen = -1) =>
      cache.set(
        key,
        { row, value, seen },
        ENTRY_OVERHEAD + 2 * textSizeOf(row),
      );
    return {
      keep,
      read: (key, params, make, row) => {
        const known = cache.get(key);
        const changes = this.#changesOf(counted);
        if (known?.seen === changes) return known.value;
        if (
          known &&
          (row ? sameValues(known.row, row) : isStored(params, known.row))
        ) {
          known.seen = changes;
          return known.value;
        }
        row ??= select.get(...params);
        if (!row) return undefined;
        const value = make(row);
        keep(key, row, value, changes);
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
        this.#counted = undefined;
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
