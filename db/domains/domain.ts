import type { UserOrdering } from "../../schemas/users.js";
import type { CachedReads } from "../cache.js";
import type { Author } from "../contract/author.js";
import type { ChatEvent, ChatDelivery, MessageSearch } from "../contract/chat-store.js";
import type { PageSelection, RoomSelection, UserSearch } from "../contract/store.js";
import type { Value } from "../copies/tables.js";
import type { GivenEntry } from "../log/draft.js";
import type { ChannelRow, NewEvent } from "../rules/chat-rows.js";
import type { RoomRow } from "../rules/room-rows.js";
import type { UserRow } from "../rules/rows.js";

/** A row's values by column name. SQLite stores erased text as blobs. */
export type Inserted = Readonly<Record<string, Value | Uint8Array>>;

/**
 * Runs SQL statements on either engine. Each statement is written once, in the common subset of SQL
 * (see [DESIGN.md](../DESIGN.md#a-domain-of-the-store)), with parameters `$1`, `$2` and so on.
 * Statements are prepared once, so keep their number small and never embed values in them. Numbers
 * are integers that are exact in a double.
 */
export interface Sql {
  /** The engine, for data that the engines store differently. */
  readonly engine: "sqlite" | "postgres";
  all<R extends object>(text: string, params?: readonly unknown[]): Promise<R[]>;
  /** Returns the first row. */
  one<R extends object>(text: string, params?: readonly unknown[]): Promise<R | undefined>;
  /** Returns the first column of the first row. */
  value<T>(text: string, params?: readonly unknown[]): Promise<T | undefined>;
  /** Returns the first column of all rows. */
  column<T>(text: string, params?: readonly unknown[]): Promise<T[]>;
  /** Returns the number of rows that a statement changed. */
  run(text: string, params?: readonly unknown[]): Promise<number>;
  /**
   * Inserts rows into a table, in order.
   * @param rows values by column. All rows must have the same columns as the first row.
   * @param conflict the `ON CONFLICT` clause. If given, no two rows may have the same key.
   */
  insert(table: string, rows: readonly Inserted[], conflict?: string): Promise<void>;
}

/** The kinds of cached values. With PostgreSQL, a log entry about one kind does not invalidate the other kinds. */
export type CachedKind = "worlds" | "rooms" | "users";

interface Searches {
  rooms: [wanted: Omit<RoomSelection, "signal">, found: { count: number; rows: RoomRow[] }];
  users: [wanted: UserSearch, found: { count: number; rows: UserRow[] }];
  messages: [
    wanted: MessageSearch & { channel: string },
    /** Undefined if too many messages must be indexed first. */
    found: { rows: ChatEvent[] | undefined },
  ];
}

export type SearchKind = keyof Searches;

export type Wanted<K extends SearchKind> = Searches[K][0];

export type SearchAnswer<K extends SearchKind> = Searches[K][1];

/** Runs the statements of reads. Each statement sees everything that has been committed. */
export interface Reading extends Sql {
  /** Runs several statements on one snapshot. `read` must await only statements. */
  snapshot<T>(read: (sql: Sql) => Promise<T>): Promise<T>;
  /**
   * Creates a cache for values of one kind that these statements read.
   * @param size the maximum total size of all values, in characters before parsing.
   */
  cached<V>(kind: CachedKind, size?: number): CachedReads<V>;
  /**
   * Runs a search once it reaches the front of the queue.
   * @param signal aborts when the client no longer waits for the result.
   * @throws {StoreError} `busy` when too many searches in the world are waiting, or if the search
   * is aborted before it runs; otherwise, the search's own errors.
   */
  search<K extends SearchKind>(
    kind: K,
    world: string,
    wanted: Wanted<K>,
    signal?: AbortSignal,
  ): Promise<SearchAnswer<K>>;
}

/** Builds SQL statements once per engine, from engine-specific fragments. */
export function perEngine<D, T>(
  dialects: Readonly<Record<Sql["engine"], D>>,
  make: (dialect: D) => T,
): (sql: Pick<Sql, "engine">) => T {
  const made = { sqlite: make(dialects.sqlite), postgres: make(dialects.postgres) };
  return ({ engine }) => made[engine];
}

// SQL for pages of lists.

/** Sort orders. Each order has an index, which can be read in either direction. */
export const USER_ORDERS: Record<UserOrdering, string> = {
  created: "created, id",
  "-created": "created DESC, id DESC",
  last_seen: "last_seen, id DESC",
  "-last_seen": "last_seen DESC, id",
};

/**
 * Returns the range of rows on a page. The offset is capped, because a client may request any page
 * and SQLite rejects offsets above 64 bits.
 */
export const rangeOf = ({ page, pageSize }: PageSelection, count: number) => ({
  limit: pageSize,
  offset: Math.min((page - 1) * pageSize, count),
});

/**
 * Returns the condition for the rows after a position. The first column alone forms a range, so
 * both engines can start reading in the middle of the order's index.
 * @param order an ORDER BY list.
 * @param parameter returns the parameter that holds a column's value. The column is given by its
 * position, starting from 0.
 * @param index the position of the first column.
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

/** A world's log, for use by a domain's writes. The entries are stored in the write's transaction. */
export interface DomainLog {
  /** Appends an entry whose author is the write's author. @param world the write's world. */
  append(world: string, change: GivenEntry): void;
  /** Appends an entry to the world's log and to the log of all worlds. */
  appendToAll(world: string, change: GivenEntry): void;
  /** Appends an entry about an action that only the user could perform, such as a vote. */
  appendOf(world: string, user: string, change: GivenEntry): void;
  /** Returns the id of the user who makes the write; null if it is no user. */
  user(): string | null;
  /** Returns the number of the next entry in the write's world. */
  next(world: string): number;
  /**
   * Reserves numbers for the events in an import. The write must then append an entry. @returns the
   * first reserved number.
   */
  skip(world: string, count: number): number;
  /**
   * Records that rows in these tables were deleted or replaced, and that the old bytes must be
   * removed from the database files.
   */
  erased(...tables: string[]): void;
  /** Records in the audit that the write's author deleted another user's message. */
  moderated(world: string, delivery: ChatDelivery, sender: string | null): void;
  /** Records an erasure after which an entry in the world's log may still contain the erased text. */
  erasedData(world: string): void;
  /** Erases the audit data in the log of a world that is being deleted. */
  eraseAudit(world: string): Promise<void>;
}

/** The parts of writes that each engine implements itself, because crowds run these writes concurrently. */
export interface EngineWrites {
  /**
   * Stores an event in a channel, and appends the event's entry. A message removes its sender from
   * a room's unread list, and makes a direct channel reappear for members who had hidden it.
   * @param channel the channel as read in this write; its last events are updated.
   * @param notified the users to notify of the event.
   */
  appendEvent(
    world: string,
    channel: ChannelRow,
    event: NewEvent,
    notified?: readonly string[],
  ): Promise<ChatDelivery>;
}

/**
 * A domain's writes, by name. Each write is a transaction, or part of a transaction. The first
 * parameter of a write is the world. Parameters have no default values; optional parameters are
 * marked with `?`.
 */
type DomainWrites = Readonly<Record<string, (world: string, ...rest: never[]) => Promise<unknown>>>;

/** The number of parameters of each write, including optional parameters. */
type ParameterCounts<W extends DomainWrites> = {
  readonly [Name in keyof W]: Required<Parameters<W[Name]>>["length"];
};

/** A part of the store that is implemented once for both engines. */
export interface Domain<R extends object, W extends DomainWrites> {
  /** Creates the reads. A read with several statements uses a snapshot. */
  readonly reads: (sql: Reading) => R;
  /**
   * Creates the writes. A write must await only statements, because SQLite runs a batch of writes
   * in one transaction. A failed statement ends the write, so a write must not catch the
   * statement's error.
   */
  readonly writes: (sql: Sql, log: DomainLog, own: EngineWrites) => W;
  /** The number of parameters of each write, not counting the author, who is passed as the last argument. */
  readonly parameters: ParameterCounts<W>;
  /**
   * For some writes, a function that returns whether a call must not run concurrently with writes
   * to other worlds.
   */
  readonly exclusive?: {
    readonly [Name in keyof W]?: (...args: Parameters<W[Name]>) => boolean;
  };
}

/** Declares a domain, so that its parts are type-checked against each other. */
export const domain = <R extends object, W extends DomainWrites>(
  declared: Domain<R, W>,
): Domain<R, W> => declared;

// oxlint-disable-next-line typescript/no-explicit-any -- Each write has its own parameters.
export type AnyDomain = Domain<object, any>;

/** A domain's store methods: the reads, and the writes with an extra last parameter for the author. */
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

/** Binds a domain's writes to the function that runs them. */
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
