import type { Author } from "../contract/author.js";
import type { Delivery } from "../contract/chat.js";
import type { Given } from "../log/draft.js";
import type { ChannelRow, NewEvent } from "../rules/chat-rows.js";
import type { Reading, Sql } from "./sql.js";

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
export type DomainWrites = Readonly<
  Record<string, (world: string, ...rest: never[]) => Promise<unknown>>
>;

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

export type RunWrite = (
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
