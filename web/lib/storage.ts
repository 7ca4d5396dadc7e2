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

/** `localStorage`, or a shelf that forgets. A full or forbidden storage breaks no page. */
export function browserShelf(): Shelf {
  const memory = memoryShelf();
  const tried = <T>(work: (storage: Storage) => T, otherwise: () => T): T => {
    try {
      return work(localStorage);
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

/** The names of all items of `localStorage`. */
export function namesKept(): string[] {
  try {
    return Object.keys(localStorage);
  } catch {
    return [];
  }
}

/**
 * A shelf of this tab alone, which ends with it. Pages of other tabs don't see what is on it.
 */
export function tabShelf(): Shelf {
  try {
    return sessionStorage;
  } catch {
    return memoryShelf();
  }
}

/** Removes all items of `localStorage` whose names begin so. */
export function forgetAll(prefix: string): void {
  for (const name of namesKept()) {
    if (name.startsWith(prefix)) localStorage.removeItem(name);
  }
}
