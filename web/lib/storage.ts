import { type Readable, writable } from "svelte/store";

/** The part of `Storage` that the pages use. */
export type Shelf = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** Creates an in-memory shelf for browsers that forbid storage. */
export function memoryShelf(): Shelf {
  const values = new Map<string, string>();
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
  };
}

/** Wraps browser storage. If the storage is full or forbidden, values are kept in memory instead. */
function shelfIn(storage: () => Storage): Shelf {
  const memory = memoryShelf();
  const tried = <T>(work: (storage: Storage) => T, otherwise: () => T): T => {
    try {
      return work(storage());
    } catch {
      return otherwise();
    }
  };
  return {
    getItem: (key) =>
      memory.getItem(key) ??
      tried(
        (it) => it.getItem(key),
        () => null,
      ),
    setItem: (key, value) =>
      tried(
        (it) => {
          it.setItem(key, value);
          // The stored value supersedes a value that was kept in memory when storage was full.
          memory.removeItem(key);
        },
        () => memory.setItem(key, value),
      ),
    removeItem: (key) => {
      memory.removeItem(key);
      tried(
        (it) => it.removeItem(key),
        () => {},
      );
    },
  };
}

/** Returns a shelf on `localStorage`, which outlives the page. */
export const browserShelf = (): Shelf => shelfIn(() => localStorage);

/** Returns a shelf on `sessionStorage`, which is private to this tab and ends with the tab. */
export const tabShelf = (): Shelf => shelfIn(() => sessionStorage);

/** Returns the names of all items in `localStorage`. */
export function storedKeys(): string[] {
  try {
    return Object.keys(localStorage);
  } catch {
    return [];
  }
}

/** Removes all items whose names start with a prefix, from this tab's storage or from this browser's storage. */
export function forgetAll(prefix: string, ofTab = false): void {
  try {
    const storage = ofTab ? sessionStorage : localStorage;
    for (const name of Object.keys(storage)) {
      if (name.startsWith(prefix)) storage.removeItem(name);
    }
  } catch {
    // The browser forbids storage, so there is nothing to remove.
  }
}

/** Maximum number of dismissals kept; few announcements exist at a time. */
const MAX_DISMISSALS = 200;

/** Items dismissed in this browser: announcements or poll cards. */
export class Dismissals implements Readable<ReadonlySet<string>> {
  readonly #shelf: Shelf;
  readonly #key: string;
  readonly #store;
  readonly subscribe: Readable<ReadonlySet<string>>["subscribe"];

  constructor(shelf: Shelf, world: string, kind?: "polls") {
    this.#shelf = shelf;
    this.#key = `foyer:${world}:attend:dismissed${kind ? `:${kind}` : ""}`;
    this.#store = writable<ReadonlySet<string>>(new Set(this.#kept()));
    this.subscribe = this.#store.subscribe;
  }

  dismiss(id: string): void {
    // Re-read, because other windows write dismissals too.
    const all = [...this.#kept().filter((it) => it !== id), id].slice(-MAX_DISMISSALS);
    this.#shelf.setItem(this.#key, all.join(" "));
    this.#store.set(new Set(all));
  }

  #kept(): string[] {
    return (this.#shelf.getItem(this.#key) ?? "").split(" ").filter(Boolean);
  }
}
