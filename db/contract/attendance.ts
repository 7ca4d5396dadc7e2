// Part of db/contract/store.ts: attendance. `Store` has the rules for every method.

/** How many people were in a room at a minute. */
export interface Count {
  readonly room: string;
  readonly people: number;
}

/** The stay of a user in a room that just ended, or goes on. In milliseconds since 1970. */
export interface Stay {
  readonly user: string;
  readonly room: string;
  /** The session that was on; empty for none. */
  readonly session: string;
  readonly from: number;
  readonly to: number;
}

/** All stays of a user in a room during a session, or outside of any. */
export interface Visit {
  readonly user: string;
  /** Empty for none. */
  readonly session: string;
  /** In milliseconds since 1970. */
  readonly first: number;
  readonly last: number;
  readonly seconds: number;
}

/**
 * Who was where, and how many. Like read marks, its writes append nothing to the log: no push
 * follows from them.
 */
export interface AttendanceStore {
  /**
   * Notes the numbers of a minute, if no process has noted that minute of the world.
   * @param at the minute, in milliseconds since 1970.
   * @returns whether they were noted.
   */
  sample(
    worldId: string,
    at: number,
    counts: readonly Count[],
  ): Promise<boolean>;
  /**
   * Adds stays to visits. Time that another process has noted already counts once. Stays of
   * users and rooms that do not exist, or are erased, are skipped.
   * @param stays at most a few hundred.
   */
  note(worldId: string, stays: readonly Stay[]): Promise<void>;
  /** The numbers of a room after a time, the oldest first. */
  counts(
    worldId: string,
    room: string,
    after: number,
    limit: number,
  ): Promise<{ at: number; people: number }[]>;
  /** The visits of a room by user and session, after one of them. */
  visits(
    worldId: string,
    room: string,
    after: Pick<Visit, "user" | "session"> | undefined,
    limit: number,
  ): Promise<Visit[]>;
}
