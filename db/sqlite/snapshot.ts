import type { Connection } from "./database.js";

/** What is remembered at most, in characters of what was read; past it, all is forgotten. */
const MAX_SIZE = 32 * 1024 * 1024;

/**
 * Remembers what was read of a database for as long as nobody has written to
 * it, in this process or another: SQLite is asked on every use (`PRAGMA
 * data_version`, a look at shared memory under two locks), or once for all uses
 * of one turn of the event loop, so nothing is ever stale.
 */
export class Snapshot {
  readonly #version;
  readonly #kept = new Map<string, object>();
  #size = 0;
  #seen: number | undefined;
  /** Whether one look serves until the event loop turns, and was taken. */
  #once = false;
  #looked = false;

  constructor(db: Connection) {
    this.#version = db.prepare<[], number>("PRAGMA data_version").pluck();
  }

  /**
   * @param key names what is read; a prefix tells kinds apart.
   * @param load reads it, and says how large it is in characters; what is not
   *   there is not remembered, so that nobody can fill the memory with misses.
   * @returns the same object for as long as nobody has written.
   */
  read<T extends object>(
    key: string,
    load: () => { value: T; size: number } | undefined,
  ): T | undefined {
    if (!this.#looked) this.#look();
    const kept = this.#kept.get(key);
    if (kept) return kept as T;
    const loaded = load();
    if (!loaded) return undefined;
    // 500 for the entry itself, whatever it holds. Twice, as its answer is kept, too.
    this.#size += 2 * loaded.size + key.length + 500;
    if (this.#size > MAX_SIZE) this.#forget();
    this.#kept.set(key, loaded.value);
    return loaded.value;
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
      this.#forget();
      this.#seen = version;
    }
    this.#looked = this.#once;
  }

  #forget(): void {
    this.#kept.clear();
    this.#size = 0;
  }
}
