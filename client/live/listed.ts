// Lists of the items of a room, such as questions. Each function returns the same list if
// nothing changes, and otherwise a new list; it never mutates one.

/** The common fields of all items. */
export interface Listed {
  readonly id: string;
  readonly timestamp: string;
  readonly is_pinned: boolean;
}

/** As many as the server lists. */
const MAX_ITEMS = 1000;

export const find = <T extends Listed>(items: readonly T[], id: string): T | undefined =>
  items.find((item) => item.id === id);

/** Adds an item by its time, or puts it in the place of an earlier state. */
export function put<T extends Listed>(items: readonly T[], item: T): readonly T[] {
  const others = item.is_pinned ? pin(items, item.id) : items;
  const index = others.findIndex(({ id }) => id === item.id);
  if (index >= 0) {
    return isSame(others[index], item) ? others : others.with(index, item);
  }
  const before = others.findLastIndex(({ timestamp }) => timestamp <= item.timestamp);
  return bounded(others.toSpliced(before + 1, 0, item));
}

export const remove = <T extends Listed>(items: readonly T[], id: string): readonly T[] =>
  find(items, id) ? items.filter((item) => item.id !== id) : items;

/** @param pinned the id of the only one that is pinned; undefined for none. */
export const pin = <T extends Listed>(
  items: readonly T[],
  pinned: string | undefined,
): readonly T[] =>
  items.some(({ id, is_pinned }) => is_pinned !== (id === pinned))
    ? items.map((item) => {
        const is_pinned = item.id === pinned;
        return item.is_pinned === is_pinned ? item : { ...item, is_pinned };
      })
    : items;

/** Drops the oldest items, but never the pinned one. */
function bounded<T extends Listed>(items: T[]): T[] {
  if (items.length <= MAX_ITEMS) return items;
  const oldest = items.findIndex(({ is_pinned }) => !is_pinned);
  return items.toSpliced(oldest, 1);
}

/** Whether two JSON values are equal, without regard to the order of keys. */
export function isSame(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) {
    return a === b;
  }
  const keys = Object.keys(a);
  return (
    Array.isArray(a) === Array.isArray(b) &&
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(a[key as never], b[key as never]))
  );
}
