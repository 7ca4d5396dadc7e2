import type { Author } from "../contract/author.js";
import type { Delivery } from "../contract/chat.js";
import type { Poll } from "../contract/polls.js";
import type { Question } from "../contract/questions.js";
import type { Visitor, WorldSettings } from "../contract/store.js";
import type { Given } from "../log/draft.js";
import type { NewEvent } from "../rules/chat-rows.js";
import type { UserRow } from "../rules/rows.js";
import type { Reading, Sql } from "./sql.js";

/** The log of a world, as a write of a domain appends to it. The transaction stores it. */
export interface DomainLog {
  /** Appends an entry, by the author of the write. @param world the world of the write. */
  append(world: string, change: Given): void;
  /** Appends an entry about an action that only the user could take, such as a vote. */
  appendOf(world: string, user: string, change: Given): void;
  /** The number of the next entry of the world of the write. */
  next(world: string): number;
  /** Rows of these tables were deleted or replaced, whose old bytes must leave the files of the database. */
  erased(...tables: string[]): void;
  /** Something was erased that an entry of the world may have hidden. */
  erasedData(world: string): void;
}

/**
 * What each engine writes in its own way, as crowds do it at once. Each is a part of a write of a
 * domain.
 */
export interface EngineWrites {
  /**
   * Creates or refreshes a user, unless they are banned.
   * @throws {StoreError} `absent` on `world`.
   */
  enterUser(world: string, visitor: Visitor): Promise<UserRow>;
  /**
   * Replaces these keys in the `config` of a world that exists.
   * @see WorldStore.configure
   */
  configureWorld(world: string, config: WorldSettings["config"]): Promise<void>;
  /** Stores an event in the chat of a room that exists. */
  postInRoom(world: string, room: string, event: NewEvent): Promise<Delivery>;
  /**
   * Replaces the ballot of a user in a poll, without an entry.
   * @see PollStore.vote
   */
  castBallot(
    world: string,
    room: string,
    id: string,
    user: string,
    options: readonly string[],
  ): Promise<{ poll: Poll; options: string[] }>;
  /**
   * Adds or removes the vote of a user for a question, without an entry.
   * @see QuestionStore.vote
   */
  countVote(
    world: string,
    room: string,
    id: string,
    user: string,
    vote: boolean,
    all: boolean,
  ): Promise<Question>;
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

/** Domains by their names, as an engine binds them. */
export type BoundAll<D> = { readonly [Name in keyof D]: Bound<D[Name]> };

/** Runs a write of a domain. */
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
      (...args: unknown[]) =>
        run(write, args.slice(0, count), args[count] as Author | undefined),
    ]),
  );
}
