import type { Connection } from "../engine/connection.js";
import { rewriteTable } from "../erasure/scrub.js";

/** How many events one transaction erases. It takes some milliseconds. */
const SLICE = 1000;

/** The least pause between two slices, in milliseconds, for other writes. */
const SHORTEST_PAUSE = 10;

/** The pause after a failure, in milliseconds. Another process may have held the lock. */
const RETRY = 1000;

/** How soon after events were erased it is looked at whether the table is to be rewritten, in milliseconds. */
const REST = 1000;

/** How many events must be over before the table is rewritten. */
const MANY = 10_000;

/** The part of the writer thread that {@link ChatChores} uses. */
export interface ChoreHooks {
  /**
   * Erases a slice of the events of deleted channels, in a transaction of the caller.
   * @returns whether there may be more.
   */
  eraseRemains(limit: number): boolean;
  /** Notes on the disk that old bytes may be in the log. */
  begin(): void;
  /** Empties the log soon. */
  end(): void;
}

/**
 * Erases the remains of deleted channels, in slices with pauses, and frees the space of
 * erased events. `chat_remains` lists the channels, so that the next process finishes the
 * work after a crash.
 */
export class ChatChores {
  readonly #hooks: ChoreHooks;
  readonly #hasRemains: () => boolean;
  readonly #erase: () => boolean;
  readonly #compact: () => void;
  #erasing: NodeJS.Timeout | undefined;
  #resting: NodeJS.Timeout | undefined;

  constructor(db: Connection, hooks: ChoreHooks) {
    this.#hooks = hooks;
    const findRemains = db.prepare("SELECT 1 FROM chat_remains LIMIT 1");
    this.#hasRemains = () => findRemains.get() !== undefined;
    const erase = db.transaction(() => hooks.eraseRemains(SLICE));
    this.#erase = () => {
      hooks.begin();
      return erase.immediate();
    };
    this.#compact = compaction(db);
  }

  /** Whether there is nothing to do. */
  get isAtRest(): boolean {
    return !this.#erasing && !this.#resting;
  }

  /** Begins to erase the remains of deleted channels, if there are any. */
  start(): void {
    if (!this.#erasing && this.#hasRemains()) this.#next(0);
  }

  #next(pause: number): void {
    this.#erasing = setTimeout(() => {
      const started = performance.now();
      let pause = RETRY;
      try {
        if (!this.#erase()) {
          this.#erasing = undefined;
          this.#hooks.end();
          this.rest();
          return;
        }
        pause = Math.max(SHORTEST_PAUSE, performance.now() - started);
      } catch {
        // It is tried again, and no caller waits for it.
      }
      this.#next(pause);
    }, pause);
  }

  /** Looks soon whether so many events are over that their space is worth giving back. */
  rest(): void {
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => {
      this.#resting = undefined;
      try {
        this.#compact();
      } catch {
        // The next erasure tries it again: another process may write, or the disk be full.
      }
    }, REST);
  }

  /**
   * Ends. The rest is erased at once, without pauses, as far as time allows.
   * @param deadline as `performance.now` gives it.
   */
  close(deadline: number): void {
    clearTimeout(this.#erasing);
    clearTimeout(this.#resting);
    try {
      if (!this.#hasRemains()) return;
      while (performance.now() < deadline && this.#erase());
    } catch {
      // The next process finishes it.
    }
  }
}

/**
 * @returns a function that rewrites the table of events without erased events, if they are
 *   most of it. That takes 1.5 to 4 seconds for a million, and all other writes wait. It
 *   happens only when as many were erased as are left.
 */
function compaction(db: Connection): () => void {
  const count = (sql: string) => db.prepare<[], number>(sql).pluck();
  // These two read indexes only. Numbers have no gaps until events are removed.
  const countLeft = count("SELECT count(*) FROM chat_events WHERE gone = 0");
  const span = count(
    "SELECT coalesce(max(rowid) - min(rowid) + 1, 0) FROM chat_events",
  );
  const countAll = count("SELECT count(*) FROM chat_events");
  const isWorthIt = (all: number, left: number) =>
    all - left >= MANY && all - left > left;
  const compact = db.transaction(() => {
    // Another process may just have done it.
    if (!isWorthIt(countAll.get()!, countLeft.get()!)) return;
    rewriteTable(db, "chat_events", "gone = 0");
  });
  return () => {
    const left = countLeft.get()!;
    if (isWorthIt(span.get()!, left) && isWorthIt(countAll.get()!, left)) {
      compact.immediate();
    }
  };
}
