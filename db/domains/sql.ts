import type { UserOrdering } from "../../schemas/users.js";
import type { CachedReads } from "../cache.js";
import type { ChatEvent, MessageSearch } from "../contract/chat.js";
import type { PageSelection, RoomSelection, UserSearch } from "../contract/store.js";
import type { Value } from "../copies/tables.js";
import type { RoomRow } from "../rules/room-rows.js";
import type { UserRow } from "../rules/rows.js";

/** A row by the names of its columns. SQLite has blobs in place of erased texts. */
export type Inserted = Readonly<Record<string, Value | Uint8Array>>;

/**
 * Statements of SQL on either engine. A text is written once, in the SQL that both engines have
 * in common ([DESIGN.md](../DESIGN.md#a-domain-of-the-store) says what that is), with
 * parameters `$1`, `$2` and so on. It is prepared once, so there are few texts, and no values in
 * them. Numbers are whole, and exact in a double.
 */
export interface Sql {
  /** Which engine it is, for what the engines store in different forms. */
  readonly engine: "sqlite" | "postgres";
  all<R extends object>(text: string, params?: readonly unknown[]): Promise<R[]>;
  /** The first row. */
  one<R extends object>(text: string, params?: readonly unknown[]): Promise<R | undefined>;
  /** The first column of the first row. */
  value<T>(text: string, params?: readonly unknown[]): Promise<T | undefined>;
  /** The first column of all rows. */
  column<T>(text: string, params?: readonly unknown[]): Promise<T[]>;
  /** How many rows a statement changed. */
  run(text: string, params?: readonly unknown[]): Promise<number>;
  /**
   * Inserts rows into a table, in their order.
   * @param rows their columns by name; all have the columns of the first.
   * @param conflict the clause `ON CONFLICT`. Then no two rows may have the same key.
   */
  insert(table: string, rows: readonly Inserted[], conflict?: string): Promise<void>;
}

/** What is cached. With PostgreSQL, entries of the log about one kind make none of another stale. */
export type CachedKind = "worlds" | "rooms" | "users";

interface Searches {
  rooms: [wanted: Omit<RoomSelection, "signal">, found: { count: number; rows: RoomRow[] }];
  users: [wanted: UserSearch, found: { count: number; rows: UserRow[] }];
  messages: [
    wanted: MessageSearch & { channel: string },
    /** No rows if too many messages have to be indexed first. */
    found: { rows: ChatEvent[] | undefined },
  ];
}

export type SearchKind = keyof Searches;

export type Wanted<K extends SearchKind> = Searches[K][0];

export type Found<K extends SearchKind> = Searches[K][1];

/** The statements of reads. Each sees all that is committed. */
export interface Reading extends Sql {
  /** Several statements that see one moment. They wait for nothing else in between. */
  snapshot<T>(read: (sql: Sql) => Promise<T>): Promise<T>;
  /**
   * A cache of what these statements read of one kind.
   * @param size the bound for all values together, in characters of what was read.
   */
  cached<V>(kind: CachedKind, size?: number): CachedReads<V>;
  /**
   * Waits for the turn of a search, and runs it.
   * @param signal aborts when the client no longer waits for the answer.
   * @throws {StoreError} `busy` when too many searches of the world wait, or if it is aborted
   *   before its turn; and the errors of the search.
   */
  search<K extends SearchKind>(
    kind: K,
    world: string,
    wanted: Wanted<K>,
    signal?: AbortSignal,
  ): Promise<Found<K>>;
}

/** Makes the texts of statements once for each engine, from what only this engine knows. */
export function perEngine<D, T>(
  dialects: Readonly<Record<Sql["engine"], D>>,
  make: (dialect: D) => T,
): (sql: Pick<Sql, "engine">) => T {
  const made = { sqlite: make(dialects.sqlite), postgres: make(dialects.postgres) };
  return ({ engine }) => made[engine];
}

// Pages of lists in SQL.

/** Each order has an index, which may be read backwards. */
export const USER_ORDERS: Record<UserOrdering, string> = {
  created: "created, id",
  "-created": "created DESC, id DESC",
  last_seen: "last_seen, id DESC",
  "-last_seen": "last_seen DESC, id",
};

/** The rows of a page. SQLite takes no offset beyond 64 bits, and a client may ask for any page. */
export const rangeOf = ({ page, pageSize }: PageSelection, count: number) => ({
  limit: pageSize,
  offset: Math.min((page - 1) * pageSize, count),
});

/**
 * The condition for the rows that follow a place. Its form, in which the first column alone gives
 * a range, lets both engines begin in the middle of the index of the order.
 * @param order as in ORDER BY.
 * @param parameter the parameter with the value of a column, counted from 0.
 * @param number of the column that it begins with.
 */
export function following(order: string, parameter: (index: number) => string, index = 0): string {
  const [column = "", ...rest] = order.split(", ");
  const [name = "", direction] = column.split(" ");
  const sign = direction === "DESC" ? "<" : ">";
  const value = parameter(index);
  if (rest.length === 0) return `${name} ${sign} ${value}`;
  const others = following(rest.join(", "), parameter, index + 1);
  return `${name} ${sign}= ${value} AND (${name} ${sign} ${value} OR (${others}))`;
}
