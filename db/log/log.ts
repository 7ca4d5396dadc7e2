export interface Position {
  /** The number of an entry; 0 before the first. */
  readonly seq: number;
  /** The tag of that entry. An entry that has the same number in another history has another tag. */
  readonly tag: number;
}

/** The fields that every entry of a log has. */
export interface Logged extends Position {
  readonly world: string;
}

/** A part of the log of a world, as it is at one moment. */
export interface Stretch<E extends Logged> {
  /**
   * The tag of the entry after which the stretch begins; undefined if the log has no such
   * entry. It is 0 for the beginning of the log.
   */
  readonly tag: number | undefined;
  /** In order. The numbers of entries that were erased since are missing. */
  readonly entries: readonly E[];
}

/** The history of a database that other servers can take over. */
export interface History {
  /** It changes when another server takes over. */
  readonly name: string;
  /** Whether that server will have all commits that anyone has read. */
  readonly isKept: boolean;
}

/** The reads of a {@link Follower}. Each sees all that was committed before it began. */
export interface LogReads<E extends Logged> {
  /** The last entry of each of these worlds, in their order. It takes one statement. */
  heads(worlds: readonly string[]): Promise<readonly Position[]>;
  /** The entries after a number, at most so many. */
  since(world: string, seq: number, limit: number): Promise<Stretch<E>>;
  /** Which history the database has; undefined if it cannot tell. A store in one file has one. */
  readonly history?: () => Promise<History | undefined>;
  /** A number that changes with each commit, if the store has one that costs microseconds. */
  readonly state?: () => number;
}

/** An entry as it travels to other processes when it is committed. */
export interface Hint<E extends Logged> {
  readonly entry: E;
  /** The tag of the entry before it; 0 for the first. It distinguishes histories. */
  readonly previous: number;
}
