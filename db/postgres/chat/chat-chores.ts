import { eraseRemains } from "./chat-erasures.js";
import type { Database } from "../engine/database.js";

/** How many events one transaction erases. */
const SLICE = 1000;

/** How often it is looked whether a channel was deleted, by whatever process, in milliseconds. */
const PATROL = 1000;

/** The least pause between two slices, in milliseconds, in which others write. */
const SHORTEST_PAUSE = 10;

/** How long a process that ends goes on, in milliseconds. */
const LAST_CHORES = 2000;

/**
 * Erases what deleted channels leave, in slices with pauses. `chat_remains` lists the
 * channels, so that another process finishes what this one does not. Of several that
 * do it, each slice is one's alone, under the lock of the world.
 */
export class ChatChores {
  readonly #db: Database;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #closed = false;

  constructor(db: Database) {
    this.#db = db;
    this.#wait(PATROL);
  }

  #wait(pause: number): void {
    this.#timer = setTimeout(() => {
      this.#working = this.#work();
    }, pause).unref();
  }

  async #work(): Promise<void> {
    const started = performance.now();
    let pause = PATROL;
    try {
      if (await this.#erase()) {
        pause = Math.max(SHORTEST_PAUSE, performance.now() - started);
      }
    } catch {
      // It is tried again, and nobody waits for it.
    }
    if (!this.#closed) this.#wait(pause);
  }

  /** Erases a slice. @returns whether there may be more. */
  async #erase(): Promise<boolean> {
    const found = await this.#db.sql.one<{ world: string; channel: number }>(
      "SELECT world_id AS world, channel FROM chat_remains LIMIT 1",
    );
    if (!found) return false;
    const { world, channel } = found;
    await this.#db.write(world, (sql, log) =>
      eraseRemains(sql, log, world, channel, SLICE),
    );
    return true;
  }

  /** Ends. What is left is erased without pauses, as far as time allows. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#working;
    const deadline = performance.now() + LAST_CHORES;
    try {
      while (performance.now() < deadline && (await this.#erase()));
    } catch {
      // Another process finishes it.
    }
  }
}
