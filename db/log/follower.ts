import type { Clock } from "../runtime.js";
import type { Hint, History, Logged, LogReads, LogPosition } from "./entries.js";

/** Interval between comparisons of all cursors with the heads. */
export const CHECK_INTERVAL_MS = 500;

/** Polling interval for stores that expose a state number. */
const LOOK_INTERVAL_MS = 100;

/** Maximum wait for the preceding hints, which may arrive by a different route. */
const REORDER_WAIT_MS = 20;

/** Maximum number of entries per read. */
const STRETCH = 500;

/** Maximum lag, in entries. A process that exceeds this lag starts over instead of reading the entries. */
const MAX_LAG = 20_000;

/** Maximum number of early hints to keep per world. If a hint is dropped, its entry is read from the store. */
const MAX_EARLY = 1_000;

/** Bounds of the backoff after a failed read. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

export interface FollowerListener<E extends Logged> {
  /** Receives each entry once, in log order. */
  apply(entry: E): void;
  /**
   * Must drop all cached state about a world, because the database reverted to an earlier state or
   * the process lagged too far behind. Delivery resumes at the current head.
   * @param known the position of the last applied entry.
   */
  reset(world: string, known: LogPosition): void;
  /** Called when a read has failed. The read will be retried. */
  failed(error: unknown): void;
}

interface Followed<E extends Logged> {
  /** Number of outstanding follow calls. */
  holders: number;
  /** The position of the last applied entry; undefined until the head is known. */
  cursor: LogPosition | undefined;
  /** Hints that arrived before their predecessors, by entry number. */
  readonly early: Map<number, Hint<E>>;
  /**
   * Tags, by entry number, of entries that this process wrote but has not yet applied. Responses
   * may already have exposed these entries.
   */
  readonly written: Map<number, number>;
  /** Whether a read of the log is in progress or will be retried. */
  isReading: boolean;
  /** Whether another read was requested since the current read began. */
  hasMore: boolean;
  resets: number;
  /** The time at which the last check began that found nothing newer than the cursor. */
  confirmed: number;
  /** A head beyond the cursor, and the time at which the check that found it began. */
  expected: { readonly head: LogPosition; readonly began: number } | undefined;
  /** Whether an early hint is waiting for its predecessors. */
  isPatient: boolean;
  /** Resolves when the cursor is known. */
  start: Started;
}

interface Started {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

function toStart(): Started {
  let resolve = () => {};
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}

/**
 * Follows worlds' logs: delivers each entry once and in order, from the moment the world is
 * followed. Entries arrive as hints, which may be lost, duplicated, late or out of order. The
 * follower reads missing entries from the store.
 */
export class Follower<E extends Logged> {
  readonly #clock: Clock;
  readonly #log: LogReads<E>;
  readonly #listener: FollowerListener<E>;
  readonly #worlds = new Map<string, Followed<E>>();
  #stopCheck = () => {};
  #checked: number;
  #history: History | undefined;
  #state: number | undefined;
  /** Whether an entry has been applied since the last state check. */
  #moved = false;
  #closed = false;
  /** Number of entries read from the store because no hint arrived in time. */
  caughtUp = 0;

  constructor(clock: Clock, log: LogReads<E>, listener: FollowerListener<E>) {
    this.#clock = clock;
    this.#log = log;
    this.#listener = listener;
    this.#checked = clock.now();
    this.#checkLater();
  }

  /**
   * Follows a world until {@link unfollow} has been called once for each call of this method.
   * @returns a promise that resolves once the head is known. Entries after the head are delivered,
   * and any read that begins after the promise has resolved sees all entries up to the head. The
   * promise stays pending while the store cannot be read.
   */
  follow(world: string): Promise<void> {
    const followed = this.#worlds.get(world);
    if (followed) {
      followed.holders++;
      return followed.start.promise;
    }
    const next: Followed<E> = {
      holders: 1,
      cursor: undefined,
      early: new Map(),
      written: new Map(),
      isReading: false,
      hasMore: false,
      resets: 0,
      confirmed: -Infinity,
      expected: undefined,
      isPatient: false,
      start: toStart(),
    };
    this.#worlds.set(world, next);
    this.#catchUp(world, next);
    return next.start.promise;
  }

  /** Undoes one call of {@link follow}. The world is dropped once all calls are undone. */
  unfollow(world: string): void {
    const followed = this.#worlds.get(world);
    if (followed && --followed.holders === 0) this.#worlds.delete(world);
  }

  /** Whether everything committed in a world up to `age` milliseconds ago has been applied. */
  isCurrent(world: string, age: number): boolean {
    const confirmed = this.#worlds.get(world)?.confirmed ?? -Infinity;
    return this.#clock.now() - confirmed <= age;
  }

  /** Returns the position of a world's last applied entry, or undefined if the head is not known yet. */
  cursorOf(world: string): LogPosition | undefined {
    return this.#worlds.get(world)?.cursor;
  }

  /**
   * Returns the position of the last entry in each followed world that this process applied or
   * wrote. Worlds with an unknown head are omitted.
   */
  seen(): ReadonlyMap<string, LogPosition> {
    const seen = new Map<string, LogPosition>();
    for (const [world, { cursor, written }] of this.#worlds) {
      const last = [...written].at(-1);
      if (last) seen.set(world, { seq: last[0], tag: last[1] });
      else if (cursor) seen.set(world, cursor);
    }
    return seen;
  }

  /**
   * Records an entry that this process wrote. If the database loses the entry before it is applied,
   * the world is reset, because a response may have exposed the entry.
   */
  wrote(world: string, { seq, tag }: LogPosition): void {
    const followed = this.#worlds.get(world);
    const cursor = followed?.cursor;
    if (!followed || !cursor || seq <= cursor.seq) return;
    if (followed.written.size < MAX_EARLY) followed.written.set(seq, tag);
  }

  /** Reads a world's new entries, if the world is followed. */
  readNew(world: string): void {
    const followed = this.#worlds.get(world);
    if (followed && !this.#closed) this.#catchUp(world, followed);
  }

  /** Receives a committed entry from any source. */
  hint(hint: Hint<E>): void {
    const { world, seq } = hint.entry;
    const followed = this.#worlds.get(world);
    if (!followed || this.#closed) return;
    const { cursor, early } = followed;
    if (cursor && seq <= cursor.seq) return;
    if (cursor && follows(hint, cursor)) {
      this.#apply(world, followed, hint);
      return;
    }
    if (early.size < MAX_EARLY) early.set(seq, hint);
    if (!cursor || followed.isPatient) return;
    followed.isPatient = true;
    this.#afterDelay(REORDER_WAIT_MS, () => {
      followed.isPatient = false;
      if (early.size > 0) this.#catchUp(world, followed);
    });
  }

  /** Stops the follower. Nothing is delivered afterwards. */
  close(): void {
    this.#closed = true;
    this.#stopCheck();
    this.#worlds.clear();
  }

  /** Applies a hint and the early hints that directly follow it. */
  #apply(world: string, followed: Followed<E>, hint: Hint<E>): void {
    const { early } = followed;
    for (let next: Hint<E> | undefined = hint; next;) {
      if (!this.#take(world, followed, next.entry)) return;
      const following: Hint<E> | undefined = early.get(next.entry.seq + 1);
      next = following && follows(following, next.entry) ? following : undefined;
      if (next) early.delete(next.entry.seq);
    }
  }

  /**
   * Applies an entry. @returns false, after resetting the world, if the entry shows that the
   * database has lost an entry written by this process.
   */
  #take(world: string, followed: Followed<E>, entry: E): boolean {
    const { seq, tag } = entry;
    for (const [own, ownTag] of followed.written) {
      if (own > seq) break;
      if (own < seq || ownTag !== tag) {
        this.#reset(world, followed);
        return false;
      }
      followed.written.delete(own);
    }
    followed.cursor = { seq, tag };
    this.#moved = true;
    const { expected } = followed;
    if (expected && seq >= expected.head.seq) {
      // Under constant writes, a check would never find the cursor at the head.
      if (isAt(entry, expected.head)) followed.confirmed = expected.began;
      followed.expected = undefined;
    }
    this.#listener.apply(entry);
    return true;
  }

  #checkLater(): void {
    const delay = this.#log.state ? LOOK_INTERVAL_MS : CHECK_INTERVAL_MS;
    this.#stopCheck = this.#clock.after(delay, () => {
      const again = () => {
        if (!this.#closed) this.#checkLater();
      };
      if (this.#isCheckDue()) this.#check().then(again, again);
      else again();
    });
  }

  /**
   * Whether a check is due: the interval has elapsed, or the store changed without an entry
   * arriving. A command may have written while the server runs, and commands have no bus.
   */
  #isCheckDue(): boolean {
    if (this.#worlds.size === 0) return false;
    const isTime = this.#clock.now() - this.#checked >= CHECK_INTERVAL_MS;
    if (!this.#log.state) return true;
    const [before, moved] = [this.#state, this.#moved];
    try {
      this.#state = this.#log.state();
    } catch {
      // The check that is now due reports the error.
      return true;
    }
    this.#moved = false;
    return isTime || (this.#state !== before && !moved);
  }

  /** Compares all cursors with the heads. Never rejects. */
  async #check(): Promise<void> {
    this.#checked = this.#clock.now();
    try {
      await this.#compareHistory();
    } catch (error) {
      // Compare the heads anyway. The next check retries the history.
      this.#listener.failed(error);
    }
    const began = this.#clock.now();
    const worlds = [...this.#worlds].flatMap(([world, followed]) =>
      followed.cursor
        ? [{ world, followed, cursor: followed.cursor, resets: followed.resets }]
        : [],
    );
    if (worlds.length === 0) return;
    try {
      const heads = await this.#log.heads(worlds.map(({ world }) => world));
      worlds.forEach(({ world, followed, cursor, resets }, i) => {
        if (!this.#isFollowed(world, followed)) return;
        if (followed.resets !== resets) return;
        this.#compare(world, followed, { cursor, head: heads[i]!, began });
      });
    } catch (error) {
      this.#listener.failed(error);
    }
  }

  /**
   * Resets all worlds after a failover to a server that may lack commits. This process may have
   * read the lost commits before their entries arrived, which comparing cursors cannot detect.
   */
  async #compareHistory(): Promise<void> {
    const history = await this.#log.history?.();
    if (this.#closed || !history) return;
    const known = this.#history;
    this.#history = history;
    if (!known || known.isKept || known.name === history.name) return;
    for (const [world, followed] of this.#worlds) {
      if (followed.cursor) this.#reset(world, followed);
    }
  }

  /** Compares a head with the cursor from before the head was read. */
  #compare(
    world: string,
    followed: Followed<E>,
    { cursor, head, began }: { cursor: LogPosition; head: LogPosition; began: number },
  ): void {
    const lag = head.seq - cursor.seq;
    const isSame = [cursor, followed.cursor].some((own) => own !== undefined && isAt(head, own));
    if (isSame) followed.confirmed = began;
    else if (lag > 0 && lag <= MAX_LAG) {
      followed.expected = { head, began };
      this.#catchUpTo(world, followed, head);
    } else if (followed.cursor) this.#reset(world, followed);
  }

  /**
   * Reads the entries up to a head, unless hints deliver them shortly. The writer's own hints may
   * be in flight, and hints contain more data than the store.
   */
  #catchUpTo(world: string, followed: Followed<E>, { seq }: LogPosition): void {
    // On a busy machine, the writing thread may wait for a CPU before it reports its entries.
    const delay = this.#log.state ? LOOK_INTERVAL_MS : REORDER_WAIT_MS;
    this.#afterDelay(delay, () => {
      const { cursor } = followed;
      if (!this.#isFollowed(world, followed) || !cursor) return;
      if (cursor.seq < seq) this.#catchUp(world, followed);
    });
  }

  /**
   * Calls a function once pending hints have had time to arrive. A busy process runs overdue timers
   * before I/O, so the call is deferred until hints that have already arrived are processed.
   */
  #afterDelay(delay: number, call: () => void): void {
    this.#clock.after(delay, () => this.#clock.soon(call));
  }

  /** Reads the entries after the cursor, unless a read is already in progress. Failed reads are retried. */
  #catchUp(world: string, followed: Followed<E>, pause = 0): void {
    if (followed.isReading && pause === 0) {
      followed.hasMore = true;
      return;
    }
    followed.isReading = true;
    this.#read(world, followed).catch((error: unknown) => {
      if (!this.#isFollowed(world, followed)) return;
      this.#listener.failed(error);
      const next = Math.min(LONGEST_PAUSE_MS, pause * 2 || FIRST_PAUSE_MS);
      this.#clock.after(next, () => this.#catchUp(world, followed, next));
    });
  }

  async #read(world: string, followed: Followed<E>): Promise<void> {
    while (this.#isFollowed(world, followed)) {
      const began = this.#clock.now();
      const { cursor, early } = followed;
      if (!cursor) {
        // Compare before any read of the world: nothing checked the history while no world was
        // followed.
        await this.#compareHistory();
        const [head] = await this.#log.heads([world]);
        if (this.#isFollowed(world, followed)) this.#begin(followed, head!);
        continue;
      }
      followed.hasMore = false;
      const waiting = [...early.values()];
      const written = [...followed.written];
      const { tag, entries } = await this.#log.since(world, cursor.seq, STRETCH);
      // A check may have reset the world during the read.
      if (!this.#isFollowed(world, followed) || !followed.cursor) continue;
      if (tag !== cursor.tag) {
        this.#reset(world, followed);
        continue;
      }
      const own = followed.cursor;
      const reached = entries.find(({ seq }) => seq >= own.seq);
      // Hints were applied during the read, possibly from a lost history.
      if (own !== cursor && reached && !isAt(reached, own)) continue;
      const isTaken = entries.every((entry) => {
        if (entry.seq <= own.seq) return true;
        this.caughtUp++;
        // A hint contains data that the store lacks, such as the originating connection.
        const hint = early.get(entry.seq)?.entry;
        return this.#take(world, followed, isAt(hint, entry) ? hint! : entry);
      });
      if (!isTaken) continue;
      const isAll = entries.length < STRETCH;
      // The entries in `written` were committed before the read began, so the read should include
      // them.
      const isLost = ([seq, tag]: [number, number]) => followed.written.get(seq) === tag;
      if (isAll && written.some(isLost)) {
        this.#reset(world, followed);
        continue;
      }
      for (const hint of waiting) {
        const { seq } = hint.entry;
        // Remaining hints within the range just read belong to a lost history.
        const isDone = isAll || seq <= entries.at(-1)!.seq;
        if (isDone && early.get(seq) === hint) early.delete(seq);
      }
      if (isAll && !followed.hasMore) {
        followed.confirmed = Math.max(followed.confirmed, began);
        // Cleared synchronously, so that later requests start a new read.
        followed.isReading = false;
        return;
      }
    }
  }

  #begin(followed: Followed<E>, head: LogPosition): void {
    followed.cursor = head;
    followed.start.resolve();
  }

  #reset(world: string, followed: Followed<E>): void {
    const known = followed.cursor!;
    followed.cursor = undefined;
    followed.start = toStart();
    followed.resets++;
    followed.expected = undefined;
    followed.early.clear();
    followed.written.clear();
    followed.confirmed = -Infinity;
    this.#listener.reset(world, known);
    this.#catchUp(world, followed);
  }

  #isFollowed(world: string, followed: Followed<E>): boolean {
    return !this.#closed && this.#worlds.get(world) === followed;
  }
}

const isAt = (entry: LogPosition | undefined, { seq, tag }: LogPosition): boolean =>
  entry?.seq === seq && entry.tag === tag;

/** Whether an entry directly follows a position in the same history. */
const follows = <E extends Logged>(
  { entry, previous }: Hint<E>,
  { seq, tag }: LogPosition,
): boolean => entry.seq === seq + 1 && previous === tag;
