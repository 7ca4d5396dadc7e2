import { Memory } from "../memory.js";
import type { Connection } from "./database.js";
import { same } from "./guards.js";

/** What is remembered at most of each kind, in characters of what was read. */
const MAX_SIZE = 32 * 1024 * 1024;

/** Values of one kind, by their names. */
export interface Kept<V extends object> {
  /**
   * @param load reads it, and says how large it is in characters; nothing, when
   *   it is not to be remembered.
   * @returns the same object for as long as nobody has written.
   */
  read(
    key: string,
    load: () => { value: V; size: number } | undefined,
  ): V | undefined;
}

/** Values that are each made of one row. */
export interface KeptRows<R extends object, V extends object> {
  /**
   * @param select reads the row, which is not remembered where there is none.
   * @returns the same object for as long as its row is the same.
   */
  read(
    key: string,
    select: () => R | undefined,
    make: (row: R) => V,
  ): V | undefined;
  /** Keeps what was made of a row as it was just written; it is compared with the row before it is given to anybody. */
  keep(key: string, row: R, value: V): void;
}

/** For an entry itself, in characters, whatever it holds. */
const ENTRY = 500;

/**
 * Remembers what was read of a database for as long as nobody has written to
 * it, in this process or another: SQLite is asked on every use (`PRAGMA
 * data_version`, a look at shared memory under two locks), or once for all uses
 * of one turn of the event loop, so nothing is ever stale.
 */
export class Snapshot {
  readonly #version;
  readonly #memories: Memory<object>[] = [];
  #seen: number | undefined;
  /** Whether one look serves until the event loop turns, and was taken. */
  #once = false;
  #looked = false;

  constructor(db: Connection) {
    this.#version = db.prepare<[], number>("PRAGMA data_version").pluck();
  }

  /**
   * Room for one kind of values.
   * @param size of all together at most, in characters of what was read.
   */
  keep<V extends object>(size = MAX_SIZE): Kept<V> {
    const memory = new Memory<V>(size);
    this.#memories.push(memory);
    return {
      read: (key, load) => {
        if (!this.#looked) this.#look();
        const kept = memory.get(key);
        if (kept) return kept;
        const loaded = load();
        if (!loaded) return undefined;
        const { value, size } = loaded;
        // Twice, as its answer is kept, too.
        memory.set(key, value, ENTRY + key.length + 2 * size);
        return value;
      },
    };
  }

  /** Room for one kind of values that outlive the writes of other rows. */
  keepRows<R extends object, V extends object>(): KeptRows<R, V> {
    const memory = new Memory<{ row: R; value: V; seen: unknown }>(MAX_SIZE);
    // Of the row, of what is made of it, and of the answer.
    const keep = (key: string, row: R, value: V, seen?: unknown) =>
      memory.set(key, { row, value, seen }, ENTRY + 3 * sizeOf(row));
    return {
      keep,
      read: (key, select, make) => {
        if (!this.#looked) this.#look();
        const kept = memory.get(key);
        const seen = this.#seen;
        if (kept?.seen === seen) return kept?.value;
        const row = select();
        if (!row) return undefined;
        if (kept && same(kept.row, row)) {
          kept.seen = seen;
          return kept.value;
        }
        const value = make(row);
        keep(key, row, value, seen);
        return value;
      },
    };
  }

  /** See `Store.lookOnce`. */
  lookOnce(): void {
    if (this.#once) return;
    this.#once = true;
    setImmediate(this.#turn);
  }

  /** Looks again at the next read, as there may be something new. */
  lookAgain(): void {
    this.#looked = false;
  }

  readonly #turn = (): void => {
    this.#once = false;
    this.#looked = false;
  };

  #look(): void {
    const version = this.#version.get();
    if (version !== this.#seen) {
      for (const memory of this.#memories) memory.clear();
      this.#seen = version;
    }
    this.#looked = this.#once;
  }
}

function sizeOf(row: object): number {
  let size = 0;
  for (const value of Object.values(row)) {
    if (typeof value === "string") size += value.length;
  }
  return size;
}
