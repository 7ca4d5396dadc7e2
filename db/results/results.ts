import type { Cell } from "../../schemas/plain/sheets/csv.js";
import type { PermissionKey } from "../../schemas/plain/permissions.js";
import type { UserListing, Store } from "../contract/store.js";

export interface NamedRoom {
  id: string;
  name: string;
}

/** Selects records by time. */
export interface Times {
  /** The earliest time to include, in milliseconds since 1970. */
  after?: number | undefined;
  /**
   * Length of the time span that each record covers, in minutes. The number of people in a record
   * is the maximum within its span.
   */
  every?: number | undefined;
  readsChat?: boolean;
}

/** One kind of results. */
export interface Results<T = object> {
  readonly columns: readonly string[];
  /** The column whose values name the sheets of a workbook; one sheet by default. */
  readonly sheetBy?: string;
  readonly rowsOf: (record: T) => readonly Readonly<Record<string, Cell>>[];
  /** The keys required to read a room's records; undefined if the records do not belong to rooms. */
  readonly inRooms?: readonly PermissionKey[];
  readonly inWorld?: readonly PermissionKey[];
  readonly hasTimes?: boolean;
  /** Whether the records contain only numbers. Reading them does not count as an export. */
  readonly isAnonymous?: boolean;
  /** Yields the records in order: the room's records, or all records if they do not belong to rooms. */
  readonly records: (
    store: Store,
    world: string,
    room: NamedRoom,
    times?: Times,
  ) => AsyncIterable<T>;
}

/** Declares results, inferring and checking the record and row types. */
export const results = <T extends object>(declared: Results<T>): Results<T> => declared;

/** Number of list items per read. */
export const PAGE_SIZE = 100;

/**
 * Yields all items of a list, reading one page at a time. If a concurrent write shifts an item to
 * the next page, the item is not yielded twice.
 * @param read returns the items of a page.
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

/** Yields all users in a world in order of creation, even if users are added concurrently. */
export async function* allUsers(store: Store, world: string): AsyncGenerator<UserListing> {
  const all = pagesAfter<UserListing>(PAGE_SIZE, async (last) => {
    const after = last && [last.created, last.id];
    const asked = { page: 1, pageSize: PAGE_SIZE, after };
    return (await store.users.list(world, asked)).users;
  });
  for await (const users of all) yield* users;
}

/**
 * Yields the pages of a list. Each page starts after the last item of the previous page.
 * @param size the number of items in a full page.
 * @param read returns the page after the given item, or the first page if no item is given.
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
 * Returns the display names of users, by id. Omits users without a name and erased users.
 * @param users the ids of the users. Duplicates and nulls are ignored.
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

/** Formats a time for results, as ISO 8601. */
export const timeOf = (milliseconds: number): string => new Date(milliseconds).toISOString();
