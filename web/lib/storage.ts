import { type Readable, writable } from "svelte/store";

/** The part of `localStorage` that is used. */
export type Shelf = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** A shelf that forgets: for browsers that forbid storage. */
export function memoryShelf(): Shelf {
  const values = new Map<string, string>();
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
  };
}

/** Storage of a browser, or a shelf that forgets. A full or forbidden storage breaks no page. */
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
          // The stored value is newer than the one that found no room before.
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

/** `localStorage`: what is on it stays in this browser. */
export const browserShelf = (): Shelf => shelfIn(() => localStorage);

/** A shelf of this tab alone, which ends with it. Pages of other tabs don't see what is on it. */
export const tabShelf = (): Shelf => shelfIn(() => sessionStorage);

/** The names of all items of `localStorage`. */
export function namesKept(): string[] {
  try {
    return Object.keys(localStorage);
  } catch {
    return [];
  }
}

/** Removes all items whose names begin so, in this tab or in this browser. */
export function forgetAll(prefix: string, ofTab = false): void {
  try {
    const storage = ofTab ? sessionStorage : localStorage;
    for (const name of Object.keys(storage)) {
      if (name.startsWith(prefix)) storage.removeItem(name);
    }
  } catch {
    // The browser forbids storage: there is nothing to remove.
  }
}

/** How many dismissals are kept: there are few announcements at a time. */
const MAX_DISMISSALS = 200;

/** What was dismissed in this browser: announcements, or cards of polls. */
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
    // Other windows dismiss as well, so it is read again.
    const all = [...this.#kept().filter((it) => it !== id), id].slice(-MAX_DISMISSALS);
    this.#shelf.setItem(this.#key, all.join(" "));
    this.#store.set(new Set(all));
  }

  #kept(): string[] {
    return (this.#shelf.getItem(this.#key) ?? "").split(" ").filter(Boolean);
  }
}
