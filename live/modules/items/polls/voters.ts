import { LRUCache } from "lru-cache";
import type { PollStore } from "../../../../db/contract/poll-store.js";
import type { Connection } from "../../../socket/connection.js";

/** How many voters of all polls are remembered, and of how many polls. */
const MAX_VOTERS = 500_000;
const MAX_POLLS = 1000;

/** The ballots of a poll, as the store had them. */
interface Counted {
  readonly world: string;
  /** The last change of a ballot that is counted in. */
  readonly changed: number;
  /** The users who have a choice. */
  readonly users: Set<string>;
}

/** A connection that votes now. */
interface Ballot {
  readonly poll: string;
  /** A push has passed it over. */
  missed: boolean;
}

/** Who has voted in a poll, as one push of it may show. */
export interface Turnout {
  /** The users who have a choice now. */
  readonly users: ReadonlySet<string>;
  /**
   * The users who voted or withdrew since the last push that did not fail; all who ever did,
   * for the first one.
   */
  readonly changed: ReadonlySet<string>;
  /**
   * Whether the user of a connection votes now, or has since this was read. The push passes them
   * over: it waits for the answer to their vote, so it could show results to a user who has just
   * withdrawn it. They get the next push.
   */
  readonly isVoting: (connection: Connection) => boolean;
}

const none: ReadonlySet<string> = new Set();

/** Who votes in polls, and who has voted. Of a poll that was pushed before, only changes are read. */
export class Voters {
  readonly #store: PollStore;
  readonly #counted = new LRUCache<string, Counted>({
    max: MAX_POLLS,
    maxSize: MAX_VOTERS,
    // The largest poll is remembered in any case, instead of all others.
    sizeCalculation: ({ users }) => Math.min(users.size + 1, MAX_VOTERS),
  });
  /** The connections that vote now. */
  readonly #ballots = new Map<Connection, Ballot>();
  /** Of each poll that is read and pushed now, who has voted or withdrawn since that began. */
  readonly #since = new Map<string, Set<string>>();

  constructor(store: PollStore) {
    this.#store = store;
  }

  /**
   * Lets a connection vote.
   * @param write writes the vote.
   * @param onMissed is called if that fails after a push has passed the connection over.
   */
  async vote<T>(
    connection: Connection,
    poll: string,
    write: () => Promise<T>,
    onMissed: () => void,
  ): Promise<T> {
    const ballot: Ballot = { poll, missed: false };
    this.#ballots.set(connection, ballot);
    try {
      return await write();
    } catch (error) {
      if (ballot.missed) onMissed();
      throw error;
    } finally {
      this.#ballots.delete(connection);
    }
  }

  /** Users have voted or withdrawn, as an entry says. */
  voted(poll: string, users: Iterable<string>): void {
    const since = this.#since.get(poll);
    if (since) for (const user of users) since.add(user);
  }

  /**
   * Reads a poll and pushes it.
   * @param read reads the poll, before its voters: a user who withdraws in between sees no results.
   * @param push sends what was read. If it fails, the next push has the same changes once more.
   */
  async during<P>(
    { world, room, id }: { world: string; room: string; id: string },
    read: () => Promise<P>,
    push: (poll: P, turnout: Turnout) => Promise<unknown>,
  ): Promise<void> {
    const since = new Set<string>();
    this.#since.set(id, since);
    try {
      const poll = await read();
      const counted = await this.#count(world, room, id);
      const isVoting = (connection: Connection) =>
        since.has(connection.login!.user) || this.#passOver(connection, id);
      await push(poll, { ...counted, isVoting });
    } catch (error) {
      this.#counted.delete(id);
      throw error;
    } finally {
      this.#since.delete(id);
    }
  }

  /** @returns whether a connection votes in a poll now. */
  #passOver(connection: Connection, poll: string): boolean {
    const ballot = this.#ballots.get(connection);
    if (ballot?.poll !== poll) return false;
    ballot.missed = true;
    return true;
  }

  async #count(world: string, room: string, poll: string) {
    const known = this.#counted.get(poll);
    const since = known?.changed ?? 0;
    const found = await this.#store.voters(world, room, poll, since);
    if (!found) {
      this.#counted.delete(poll);
      return { users: none, changed: none };
    }
    const users = known?.users ?? new Set<string>();
    for (const { id, voted } of found.users) {
      if (voted) users.add(id);
      else users.delete(id);
    }
    this.#counted.set(poll, { world, changed: found.changed, users });
    return { users, changed: new Set(found.users.map(({ id }) => id)) };
  }

  /** The last connection of a world has ended. */
  forget(world: string): void {
    for (const [poll, counted] of this.#counted.entries()) {
      if (counted.world === world) this.#counted.delete(poll);
    }
  }
}
