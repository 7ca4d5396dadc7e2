import type { Connection } from "../../../socket/connection.js";

/** A connection that votes in a poll. */
interface Ballot {
  readonly poll: string;
  /** A push has passed it over. */
  missed: boolean;
}

/**
 * Who is voting, so that no push shows results to a user who has just withdrawn their vote.
 * Pushes wait for the answer to a vote, so one with the results of before could follow the
 * answer. A push passes over users whose vote is in progress, and those who voted since
 * it read the poll; they get the next one.
 */
export class Voting {
  /** The connections that vote now. */
  readonly #ballots = new Map<Connection, Ballot>();
  /** Of each poll that is read and pushed now, who has voted or withdrawn since that began. */
  readonly #since = new Map<string, Set<string>>();

  /**
   * Lets a connection vote.
   * @param onMissed is called if the vote fails after a push has passed the connection over.
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

  /** Users have voted or withdrawn. */
  voted(poll: string, users: Iterable<string>): void {
    const since = this.#since.get(poll);
    if (since) for (const user of users) since.add(user);
  }

  /** Reads a poll and pushes it. */
  async during<T>(poll: string, push: () => Promise<T>): Promise<T> {
    this.#since.set(poll, new Set());
    try {
      return await push();
    } finally {
      this.#since.delete(poll);
    }
  }

  /** Whether a push passes over a connection, because its user votes or has just voted. */
  passesOver(connection: Connection, poll: string): boolean {
    const { user } = connection.login!;
    if (this.#since.get(poll)?.has(user)) return true;
    const ballot = this.#ballots.get(connection);
    if (ballot?.poll !== poll) return false;
    ballot.missed = true;
    return true;
  }
}
