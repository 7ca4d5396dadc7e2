// Part of db/contract/store.ts: attendance. `Store` has the rules for every method.

export interface Count {
  readonly room: string;
  readonly people: number;
}

/** A visit of a user to a room, finished or not. In milliseconds since 1970. */
export interface Stay {
  readonly user: string;
  readonly room: string;
  readonly from: number;
  readonly to: number;
}

/** All stays of a user in a room during a session, or outside of any. */
export interface Visit {
  readonly user: string;
  /** The id of the session; empty for none. */
  readonly session: string;
  /** The title of the session; null if it was deleted, and for none. */
  readonly title: string | null;
  /** In milliseconds since 1970. */
  readonly first: number;
  readonly last: number;
  readonly seconds: number;
}

/**
 * How many people were where, and who. Its writes append nothing to the log: no push follows from them.
 */
export interface AttendanceStore {
  /**
   * Notes the numbers of a minute. Of several numbers for a room and a minute, the largest stays: a
   * process that lost touch with others counts fewer people. Rooms that do not exist are skipped.
   * @param at the minute, in milliseconds since 1970.
   * @param counts at most a few hundred.
   */
  sample(worldId: string, at: number, counts: readonly Count[]): Promise<void>;
  /**
   * Adds stays to visits, by the sessions of the program in which they were. Time that another
   * process has noted counts once. Stays of users and rooms that do not exist, or are erased, are
   * skipped.
   * @param stays at most a few hundred.
   */
  note(worldId: string, stays: readonly Stay[]): Promise<void>;
  /**
   * The numbers of a room, the oldest first: the largest of each span of time in which
   * the room had people.
   * @param selection `from` a time, in milliseconds since 1970, `span` in milliseconds.
   */
  counts(
    worldId: string,
    room: string,
    selection: { from: number; span: number; limit: number },
  ): Promise<{ at: number; people: number }[]>;
  /** The visits of a room by user and session, after one of them. */
  visits(
    worldId: string,
    room: string,
    after: Pick<Visit, "user" | "session"> | undefined,
    limit: number,
  ): Promise<Visit[]>;
  /**
   * Removes a slice of what is older than two times, in milliseconds since 1970.
   * @returns whether there may be more.
   */
  prune(worldId: string, before: { counts: number; visits: number }): Promise<boolean>;
}
