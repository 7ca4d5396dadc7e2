import type { Cell } from "../../schemas/plain/csv.js";
import type { PermissionKey } from "../../schemas/plain/permissions.js";
import type { ListedUser, Store } from "../contract/store.js";

export interface NamedRoom {
  id: string;
  name: string;
}

/** Which records of times are asked for. */
export interface Times {
  /** Only from this time on, in milliseconds since 1970. */
  after?: number | undefined;
  /** One record for so many minutes, with their largest number. */
  every?: number | undefined;
  readsChat?: boolean;
}

/** One kind of what is left of an event. */
export interface Results<T = object> {
  readonly columns: readonly string[];
  readonly rowsOf: (record: T) => readonly Readonly<Record<string, Cell>>[];
  /** The keys for the records of a room; undefined if the records belong to no room. */
  readonly inRooms?: readonly PermissionKey[];
  readonly inWorld?: readonly PermissionKey[];
  readonly hasTimes?: boolean;
  /** Whether the records are numbers only. A read of them is no export. */
  readonly isAnonymous?: boolean;
  /** The records of a room, or of all, in their order. */
  readonly records: (
    store: Store,
    world: string,
    room: NamedRoom,
    times?: Times,
  ) => AsyncIterable<T>;
}

/** Declares results, so that the types of records and rows are checked against each other. */
export const results = <T extends object>(declared: Results<T>): Results<T> => declared;

/** How many items of a list are read at once. */
export const PAGE_SIZE = 100;

/**
 * The items of all pages of a list, read a page at a time. A write in between
 * may move an item to the next page; it is not repeated.
 * @param read gives the items of a page.
 */
export async function* pages<T extends { id: string }>(
  read: (page: { page: number; pageSize: number }) => Promise<T[]>,
): AsyncGenerator<T> {
  let seen = new Set<string>();
  for (let page = 1; ; page++) {
    const items = await read({ page, pageSize: PAGE_SIZE });
    for (const item of items) if (!seen.has(item.id)) yield item;
    if (items.length < PAGE_SIZE) return;
    seen = new Set(items.map(({ id }) => id));
  }
}

/** All users of a world, the first created first, also while others come. */
export async function* allUsers(store: Store, world: string): AsyncGenerator<ListedUser> {
  const all = pagesAfter<ListedUser>(PAGE_SIZE, async (last) => {
    const after = last && [last.created, last.id];
    const asked = { page: 1, pageSize: PAGE_SIZE, after };
    return (await store.users.list(world, asked)).users;
  });
  for await (const users of all) yield* users;
}

/**
 * The pages of a list of which each page follows the last item of the one before.
 * @param size how many items a full page has.
 * @param read gives the page after an item; the first one without.
 */
export async function* pagesAfter<T>(
  size: number,
  read: (last?: T) => Promise<T[]>,
): AsyncGenerator<T[]> {
  let page: T[] | undefined;
  do {
    page = await read(page?.at(-1));
    yield page;
  } while (page.length >= size);
}

/**
 * The display names of some users, by id. Users who have none, or are erased, are left out.
 * @param users may name a user several times; null names no user.
 */
export async function displayNames(
  store: Store,
  world: string,
  users: readonly (string | null)[],
): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  const ids = [...new Set(users)].filter((id) => id !== null);
  for (let at = 0; at < ids.length; at += PAGE_SIZE) {
    const page = ids.slice(at, at + PAGE_SIZE);
    for (const { id, profile } of await store.users.getMany(world, page)) {
      const name = profile?.display_name;
      if (typeof name === "string") names.set(id, name);
    }
  }
  return names;
}

/** A time as results have it: ISO 8601. */
export const timeOf = (milliseconds: number): string => new Date(milliseconds).toISOString();
