import { LRUCache } from "lru-cache";
import type { Connection } from "./database.js";

/** What is remembered at most, in characters of what was read. */
const MAX_SIZE = 32 * 1024 * 1024;

/**
 * Remembers what was read of a database for as long as nobody has written to
 * it, in this process or another: SQLite is asked on every use
 * (`PRAGMA data_version`, a look at shared memory), so nothing is ever stale.
 */
export class Snapshot {
  readonly #version;
  readonly #kept = new LRUCache<string, { value: object }>({
    maxSize: MAX_SIZE,
  });
  #seen: number | undefined;

  constructor(db: Connection) {
    this.#version = db.prepare<[], number>("PRAGMA data_version").pluck();
  }

  /**
   * @param key names what is read; a prefix tells kinds apart.
   * @param load reads it, and says how large it is in characters; what is not
   *   there is not remembered, so that nobody can fill the memory with misses.
   */
  read<T extends object>(
    key: string,
    load: () => { value: T; size: number } | undefined,
  ): T | undefined {
    const version = this.#version.get();
    if (version !== this.#seen) {
      this.#kept.clear();
      this.#seen = version;
    }
    const kept = this.#kept.get(key);
    if (kept) return kept.value as T;
    const loaded = load();
    if (!loaded) return undefined;
    // 500 for the entry itself, whatever it holds.
    this.#kept.set(key, loaded, { size: loaded.size + key.length + 500 });
    return loaded.value;
  }
}
