import type { UserOrdering } from "../../schemas/users.js";
import type { CachedReads } from "../cache.js";
import type { Author } from "../contract/author.js";
import type { ChatEvent, Delivery, MessageSearch } from "../contract/chat-store.js";
import type { PageSelection, RoomSelection, UserSearch } from "../contract/store.js";
import type { Value } from "../copies/tables.js";
import type { Given } from "../log/draft.js";
import type { ChannelRow, NewEvent } from "../rules/chat-rows.js";
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

/** The rows of a page. A client may ask for any page, and SQLite rejects offsets above 64 bits. */
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

/** The log of a world, as a write of a domain appends to it. The transaction stores it. */
export interface DomainLog {
  /** Appends an entry, by the author of the write. @param world the world of the write. */
  append(world: string, change: Given): void;
  /** Appends an entry that the log of all worlds gets, too. */
  appendToAll(world: string, change: Given): void;
  /** Appends an entry about an action that only the user could take, such as a vote. */
  appendOf(world: string, user: string, change: Given): void;
  /** The number of the next entry of the world of the write. */
  next(world: string): number;
  /** Leaves out numbers for the events of an import. An entry has to follow. @returns the first of them. */
  skip(world: string, count: number): number;
  /** Rows of these tables were deleted or replaced, whose old bytes must leave the files of the database. */
  erased(...tables: string[]): void;
  /** Notes in the audit that the author of the write deleted a message of another user. */
  moderated(world: string, delivery: Delivery, sender: string | null): void;
  /** Something was erased that an entry of the world may have hidden. */
  erasedData(world: string): void;
  /** Erases what the audit has of the entries of a world that is deleted. */
  eraseAudit(world: string): Promise<void>;
}

/** What each engine writes in its own way, as crowds do it at once: a part of a write of a domain. */
export interface EngineWrites {
  /**
   * Stores an event in a channel, and appends its entry. A message takes its sender off the unread
   * list of a room, and makes a direct channel appear again to members who had hidden it.
   * @param channel as it was read in this write. It is updated.
   * @param notified the users with a notification of it.
   */
  appendEvent(
    world: string,
    channel: ChannelRow,
    event: NewEvent,
    notified?: readonly string[],
  ): Promise<Delivery>;
}

/**
 * The writes of a domain by their names. Each is one transaction, or a part of one. Its first
 * parameter is the world. None has a default: an optional one is marked with `?`.
 */
type DomainWrites = Readonly<Record<string, (world: string, ...rest: never[]) => Promise<unknown>>>;

/** How many parameters each write has, those with `?` included. */
type ParameterCounts<W extends DomainWrites> = {
  readonly [Name in keyof W]: Required<Parameters<W[Name]>>["length"];
};

/** A part of the store that is written once for both engines. */
export interface Domain<R extends object, W extends DomainWrites> {
  /** Makes the reads. A read of several statements takes a snapshot. */
  readonly reads: (sql: Reading) => R;
  /**
   * Makes the writes. They wait for nothing but statements: in SQLite, a batch of
   * writes shares a transaction. A failed statement ends the write, so they catch no error of one.
   */
  readonly writes: (sql: Sql, log: DomainLog, own: EngineWrites) => W;
  /** The writes, and how many parameters each has: the author of a write comes after them. */
  readonly parameters: ParameterCounts<W>;
  /** The writes before and after which no other world may change, if their parameters say so. */
  readonly exclusive?: {
    readonly [Name in keyof W]?: (...args: Parameters<W[Name]>) => boolean;
  };
}

/** Declares a domain, so that its types are checked against each other. */
export const domain = <R extends object, W extends DomainWrites>(
  declared: Domain<R, W>,
): Domain<R, W> => declared;

/** Any domain. */
// Its writes take parameters of their own, and only their makers know which.
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyDomain = Domain<object, any>;

/** The methods of a domain in a store: its reads, and its writes with the author as the last parameter. */
export type Bound<D> =
  D extends Domain<infer R, infer W>
    ? R & {
        readonly [Name in keyof W]: (
          ...args: [...parameters: Parameters<W[Name]>, by?: Author]
        ) => ReturnType<W[Name]>;
      }
    : never;

export type BoundAll<D> = { readonly [Name in keyof D]: Bound<D[Name]> };

type RunWrite = (
  write: string,
  args: readonly unknown[],
  by: Author | undefined,
) => Promise<unknown>;

/** Binds the writes of a domain to the function that runs them. */
export function boundWrites(
  { parameters }: AnyDomain,
  run: RunWrite,
): Record<string, (...args: unknown[]) => Promise<unknown>> {
  const counts = Object.entries(parameters as Record<string, number>);
  return Object.fromEntries(
    counts.map(([write, count]) => [
      write,
      (...args: unknown[]) => run(write, args.slice(0, count), args[count] as Author | undefined),
    ]),
  );
}
