import { eraseRemains } from "./chat-erasures.js";
import type { Database } from "../engine/database.js";
import { OverdueErasures } from "../../overdue.js";

/** How many events one transaction erases. */
const SLICE = 1000;

/** How often a process looks for channels that another one deleted, in milliseconds. */
const PATROL = 10_000;

/** When a process that has started looks for the first time, or again after a failure, in milliseconds. */
const FIRST = 1000;

/** The least pause between two slices, in milliseconds, for other writes. */
const SHORTEST_PAUSE = 10;

/** How long a process that ends goes on, in milliseconds. */
const LAST_CHORES = 2000;

/**
 * Erases the remains of deleted channels, in slices with pauses. `chat_remains` lists the
 * channels, so that another process can finish the work. If several processes do it, the
 * lock of the world gives each slice to one of them.
 */
export class ChatChores {
  readonly #db: Database;
  readonly #overdue: OverdueErasures;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  /** Whether this process has deleted channels since it looked. */
  #isDue = false;
  /** When this process learned that there is something to erase. */
  #since: number | undefined;
  #closed = false;

  constructor(db: Database) {
    this.#db = db;
    this.#overdue = new OverdueErasures(db.maintenanceLog);
    db.onRemoval = () => this.#soon();
    this.#wait(FIRST);
  }

  /** How long there has been something to erase, in seconds; 0 if there is nothing. */
  age(): number {
    return this.#since === undefined
      ? 0
      : (performance.now() - this.#since) / 1000;
  }

  #soon(): void {
    this.#isDue = true;
    this.#since ??= performance.now();
    if (this.#timer && !this.#closed) {
      clearTimeout(this.#timer);
      this.#wait(0);
    }
  }

  #wait(pause: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#working = this.#work();
    }, pause).unref();
  }

  async #work(): Promise<void> {
    const started = performance.now();
    this.#isDue = false;
    let pause = FIRST;
    try {
      const hasMore = (await this.#erase()) || this.#isDue;
      this.#overdue.succeeded();
      if (!hasMore) this.#since = undefined;
      pause = hasMore
        ? Math.max(SHORTEST_PAUSE, performance.now() - started)
        : PATROL;
    } catch (error) {
      // It is tried again. While nothing is known to be left, only the look failed.
      if (this.#since !== undefined) this.#overdue.failed(error);
    }
    if (!this.#closed) this.#wait(pause);
  }

  /** Erases a slice. @returns whether there may be more. */
  async #erase(): Promise<boolean> {
    const found = await this.#db.sql.one<{ world: string; channel: number }>(
      "SELECT world_id AS world, channel FROM chat_remains LIMIT 1",
    );
    if (!found) return false;
    this.#since ??= performance.now();
    const { world, channel } = found;
    await this.#db.write(world, (sql, log) =>
      eraseRemains(sql, log, world, channel, SLICE),
    );
    return true;
  }

  /** Ends. The rest is erased without pauses, as far as time allows. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#working;
    const deadline = performance.now() + LAST_CHORES;
    try {
      while (performance.now() < deadline && (await this.#erase()));
    } catch (error) {
      // Another process finishes it.
      this.#overdue.failed(error);
    }
  }
}
