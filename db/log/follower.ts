import type { Clock } from "../runtime.js";
import type { Hint, History, Logged, LogReads, Position } from "./entries.js";

/** How often the heads of all followed worlds are compared with the cursors. */
export const CHECK_INTERVAL_MS = 500;

/** How often a store that has a number for its state is asked for it. */
const LOOK_INTERVAL_MS = 100;

/** How long a hint waits for earlier ones, which may come by another way. */
const REORDER_WAIT_MS = 20;

/** How many entries are read at a time. */
const STRETCH = 500;

/** A process that lags by more entries than this starts again instead of reading them. */
const MAX_LAG = 20_000;

/** How many hints of a world may wait for earlier ones. The follower reads further entries. */
const MAX_EARLY = 1_000;

/** The first and the longest pause after a read that failed. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

export interface FollowerListener<E extends Logged> {
  /** Gets each entry once, in the order of the log. */
  apply(entry: E): void;
  /**
   * The process has to drop all that it knows of a world: the database went back to an
   * earlier state, or the process lagged by too much. Entries come from the present head on.
   * @param known the position up to which entries were applied.
   */
  reset(world: string, known: Position): void;
  /** A read failed, and will be repeated. */
  failed(error: unknown): void;
}

interface Followed<E extends Logged> {
  /** How often it was asked for. */
  holders: number;
  /** The last entry that was applied; undefined until the head is known. */
  cursor: Position | undefined;
  /** Hints that came before their predecessors, by their number. */
  readonly early: Map<number, Hint<E>>;
  /**
   * Entries that this process wrote and that were not applied yet: their tags by their
   * numbers. Answers have shown them to people.
   */
  readonly written: Map<number, number>;
  /** Whether a read of the log is under way or will be repeated. */
  isReading: boolean;
  /** Whether there was a reason to read once more since that read began. */
  hasMore: boolean;
  resets: number;
  /** When a check that found nothing newer than the cursor began. */
  confirmed: number;
  /** A head beyond the cursor, and when the check that found it began. */
  expected: { readonly head: Position; readonly began: number } | undefined;
  /** Whether an early hint waits for earlier ones. */
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
 * Follows the logs of some worlds: delivers every entry of them once and in order, from
 * the moment when a world is followed. Entries arrive as hints, which may be lost,
 * doubled, late and out of order. The follower reads missing ones from the store.
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
  /** Whether an entry was applied since the last look. */
  #moved = false;
  #closed = false;
  /** How many entries were read, because no hint of them came in time. */
  caughtUp = 0;

  constructor(clock: Clock, log: LogReads<E>, listener: FollowerListener<E>) {
    this.#clock = clock;
    this.#log = log;
    this.#listener = listener;
    this.#checked = clock.now();
    this.#checkLater();
  }

  /**
   * Follows a world, once more if it is followed already.
   * @returns when the follower knows the head. Later entries are delivered, and a read that
   *   begins now sees all earlier ones. It waits for as long as the store cannot be read.
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

  /** Takes back one {@link follow}. With the last one, the world is forgotten. */
  unfollow(world: string): void {
    const followed = this.#worlds.get(world);
    if (followed && --followed.holders === 0) this.#worlds.delete(world);
  }

  /** Whether everything that was committed in a world until so many milliseconds ago was applied. */
  isCurrent(world: string, age: number): boolean {
    const confirmed = this.#worlds.get(world)?.confirmed ?? -Infinity;
    return this.#clock.now() - confirmed <= age;
  }

  /** The last entry of a world that was applied; undefined if there is none yet. */
  cursorOf(world: string): Position | undefined {
    return this.#worlds.get(world)?.cursor;
  }

  /** The last entry of each followed world that this process applied or wrote, once a head is known. */
  seen(): ReadonlyMap<string, Position> {
    const seen = new Map<string, Position>();
    for (const [world, { cursor, written }] of this.#worlds) {
      const last = [...written].at(-1);
      if (last) seen.set(world, { seq: last[0], tag: last[1] });
      else if (cursor) seen.set(world, cursor);
    }
    return seen;
  }

  /**
   * Notes an entry that this process wrote. If the database loses it before it is applied, the
   * world is reset, as people may have seen it in an answer.
   */
  wrote(world: string, { seq, tag }: Position): void {
    const followed = this.#worlds.get(world);
    const cursor = followed?.cursor;
    if (!followed || !cursor || seq <= cursor.seq) return;
    if (followed.written.size < MAX_EARLY) followed.written.set(seq, tag);
  }

  /** Reads the new entries of a world, if it is followed. */
  look(world: string): void {
    const followed = this.#worlds.get(world);
    if (followed && !this.#closed) this.#catchUp(world, followed);
  }

  /** Takes an entry that was committed, however it came here. */
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
    this.#afterPatience(REORDER_WAIT_MS, () => {
      followed.isPatient = false;
      if (early.size > 0) this.#catchUp(world, followed);
    });
  }

  /** Ends everything. Nothing is delivered any more. */
  close(): void {
    this.#closed = true;
    this.#stopCheck();
    this.#worlds.clear();
  }

  /** Applies a hint, and the hints that waited for it. */
  #apply(world: string, followed: Followed<E>, hint: Hint<E>): void {
    const { early } = followed;
    for (let next: Hint<E> | undefined = hint; next;) {
      if (!this.#take(world, followed, next.entry)) return;
      const following: Hint<E> | undefined = early.get(next.entry.seq + 1);
      next = following && follows(following, next.entry) ? following : undefined;
      if (next) early.delete(next.entry.seq);
    }
  }

  /** @returns false if the entry shows that the database lost one. Then the world is reset. */
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
      // While many write, a check never finds the head at the cursor.
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
   * Whether it is time, or the store has changed while no entry came: a command beside the
   * server, which has no bus, may have written.
   */
  #isCheckDue(): boolean {
    if (this.#worlds.size === 0) return false;
    const isTime = this.#clock.now() - this.#checked >= CHECK_INTERVAL_MS;
    if (!this.#log.state) return true;
    const [before, moved] = [this.#state, this.#moved];
    try {
      this.#state = this.#log.state();
    } catch {
      // The check will say why.
      return true;
    }
    this.#moved = false;
    return isTime || (this.#state !== before && !moved);
  }

  /** Compares all cursors with the heads. It never rejects. */
  async #check(): Promise<void> {
    this.#checked = this.#clock.now();
    try {
      await this.#compareHistory();
    } catch (error) {
      // The heads may still tell something. The next check asks again.
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
   * Resets all worlds if another server took over that may lack commits. This process may have
   * read them before their entries came. No comparison of cursors shows that.
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

  /** Compares a cursor, as it was before the head was read, with that head. */
  #compare(
    world: string,
    followed: Followed<E>,
    { cursor, head, began }: { cursor: Position; head: Position; began: number },
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
   * Reads the entries up to a head, unless hints bring them within a moment: the writer's own
   * may be on their way, and say more than the store.
   */
  #catchUpTo(world: string, followed: Followed<E>, { seq }: Position): void {
    // On a busy machine, the thread that writes may wait for a processor before it reports.
    const patience = this.#log.state ? LOOK_INTERVAL_MS : REORDER_WAIT_MS;
    this.#afterPatience(patience, () => {
      const { cursor } = followed;
      if (!this.#isFollowed(world, followed) || !cursor) return;
      if (cursor.seq < seq) this.#catchUp(world, followed);
    });
  }

  /**
   * Calls a function once hints had time to come. A busy process runs its late timers first, so
   * hints that are here by then get their turn before.
   */
  #afterPatience(patience: number, call: () => void): void {
    this.#clock.after(patience, () => this.#clock.soon(call));
  }

  /** Reads the entries after the cursor, unless a read is under way. Failed reads are repeated. */
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
        // Before a read of the world can see anything. Nothing asked while no world was followed.
        await this.#compareHistory();
        const [head] = await this.#log.heads([world]);
        if (this.#isFollowed(world, followed)) this.#begin(followed, head!);
        continue;
      }
      followed.hasMore = false;
      const waiting = [...early.values()];
      const written = [...followed.written];
      const { tag, entries } = await this.#log.since(world, cursor.seq, STRETCH);
      // A check may have reset the world meanwhile.
      if (!this.#isFollowed(world, followed) || !followed.cursor) continue;
      if (tag !== cursor.tag) {
        this.#reset(world, followed);
        continue;
      }
      const own = followed.cursor;
      const reached = entries.find(({ seq }) => seq >= own.seq);
      // Hints have come meanwhile, perhaps of a history that is no more.
      if (own !== cursor && reached && !isAt(reached, own)) continue;
      const isTaken = entries.every((entry) => {
        if (entry.seq <= own.seq) return true;
        this.caughtUp++;
        // A hint has more than the store, such as the connection that caused it.
        const hint = early.get(entry.seq)?.entry;
        return this.#take(world, followed, isAt(hint, entry) ? hint! : entry);
      });
      if (!isTaken) continue;
      const isAll = entries.length < STRETCH;
      // The read began after these were committed.
      const isLost = ([seq, tag]: [number, number]) => followed.written.get(seq) === tag;
      if (isAll && written.some(isLost)) {
        this.#reset(world, followed);
        continue;
      }
      for (const hint of waiting) {
        const { seq } = hint.entry;
        // The unread entries belong to a lost history.
        const isDone = isAll || seq <= entries.at(-1)!.seq;
        if (isDone && early.get(seq) === hint) early.delete(seq);
      }
      if (isAll && !followed.hasMore) {
        followed.confirmed = Math.max(followed.confirmed, began);
        // In this moment: what comes in the next one has to be read.
        followed.isReading = false;
        return;
      }
    }
  }

  #begin(followed: Followed<E>, head: Position): void {
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

const isAt = (entry: Position | undefined, { seq, tag }: Position): boolean =>
  entry?.seq === seq && entry.tag === tag;

/** Whether an entry is the next one after a position, in the same history. */
const follows = <E extends Logged>({ entry, previous }: Hint<E>, { seq, tag }: Position): boolean =>
  entry.seq === seq + 1 && previous === tag;
