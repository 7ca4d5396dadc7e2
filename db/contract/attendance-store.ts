// Part of db/contract/store.ts: attendance. `Store` documents the rules for every method.

export interface Count {
  readonly room: string;
  readonly people: number;
}

/** A user's visit to a room, finished or not. Times are in milliseconds since 1970. */
export interface Stay {
  readonly user: string;
  readonly room: string;
  readonly from: number;
  readonly to: number;
}

/** All stays of one user in a room during one session, or outside any session. */
export interface Visit {
  readonly user: string;
  /** The session's id; empty outside any session. */
  readonly session: string;
  /** The session's title; null outside any session, or if the session has been deleted. */
  readonly title: string | null;
  /** In milliseconds since 1970. */
  readonly first: number;
  readonly last: number;
  readonly seconds: number;
}

/**
 * Counts the people in rooms, and records who visited each room. Writes to this store append
 * nothing to the log, so they cause no pushes.
 */
export interface AttendanceStore {
  /**
   * Records the counts for one minute. If a room already has a count for that minute, the larger
   * count is kept, because a process that has lost contact with other processes counts too few
   * people. Skips rooms that do not exist.
   * @param at the minute, in milliseconds since 1970.
   * @param counts at most a few hundred.
   */
  sample(worldId: string, at: number, counts: readonly Count[]): Promise<void>;
  /**
   * Adds stays to visits, split by the sessions of the program. Time that another process has
   * already recorded is not counted twice. Skips rooms that do not exist, and users who do not
   * exist or are erased.
   * @param stays at most a few hundred.
   */
  note(worldId: string, stays: readonly Stay[]): Promise<void>;
  /**
   * Returns a room's counts, oldest first: the maximum for each time span during which the room had
   * people.
   * @param selection `from` is in milliseconds since 1970, and `span` in milliseconds.
   */
  counts(
    worldId: string,
    room: string,
    selection: { from: number; span: number; limit: number },
  ): Promise<{ at: number; people: number }[]>;
  /**
   * Returns a page of the visits to a room, ordered by user and session.
   * @param after the visit after which the page begins.
   */
  visits(
    worldId: string,
    room: string,
    after: Pick<Visit, "user" | "session"> | undefined,
    limit: number,
  ): Promise<Visit[]>;
  /**
   * Removes a slice of the counts and of the visits that ended before the given times, in
   * milliseconds since 1970.
   * @returns whether there may be more to remove.
   */
  prune(worldId: string, before: { counts: number; visits: number }): Promise<boolean>;
}
