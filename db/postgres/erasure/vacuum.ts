import { setTimeout as sleep } from "node:timers/promises";
import { detach } from "../../detach.js";

/** How long after an erasure its tables are vacuumed, in milliseconds, so that several erasures cost one. */
const DELAY = 1000;

/** The pause after a failure, or while somebody still reads what was erased, in milliseconds. */
const RETRY = 5000;

/** How often a process that ends tries again, and the pause before, in milliseconds. */
const LAST_TRIES = 5;
const LAST_PAUSE = 100;

/** What {@link Vacuum} asks of the database. */
interface VacuumAccess {
  /** Runs a statement outside of any transaction. */
  run: (statement: string) => Promise<void>;
  /** Whether somebody reads what was committed before some time, in milliseconds: that cannot be removed. */
  isRead: (age: number) => Promise<boolean>;
}

/** Removes the dead versions of erased rows soon after. */
export class Vacuum {
  readonly #access: VacuumAccess;
  /** What to vacuum, and when something was last erased there. */
  readonly #tables = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;

  constructor(access: VacuumAccess) {
    this.#access = access;
  }

  /** These tables have dead rows that hold what was erased. */
  add(tables: Iterable<string>): void {
    const now = performance.now();
    for (const table of tables) this.#tables.set(table, now);
    if (this.#tables.size > 0) this.#schedule(DELAY);
  }

  /** Vacuums what is left. It waits a moment for those who still read it. */
  async close(): Promise<void> {
    await this.#working;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#start(0);
    for (let tries = 0; this.#tables.size > 0 && tries < LAST_TRIES; tries++) {
      await sleep(LAST_PAUSE);
      await this.#start(0);
    }
  }

  #schedule(delay: number): void {
    if (this.#timer || this.#working) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      detach(this.#start(RETRY));
    }, delay).unref();
  }

  async #start(retry: number): Promise<void> {
    const tables = [...this.#tables];
    if (tables.length === 0) return;
    this.#tables.clear();
    this.#working = this.#vacuum(tables).then((isDone) => {
      if (isDone) return;
      // Whatever was erased in between is later.
      for (const [table, time] of tables) {
        if (!this.#tables.has(table)) this.#tables.set(table, time);
      }
    });
    await this.#working;
    this.#working = undefined;
    if (this.#tables.size > 0 && retry > 0) this.#schedule(retry);
  }

  /** @returns whether nothing is left. */
  async #vacuum(tables: readonly [name: string, time: number][]) {
    try {
      const last = Math.max(...tables.map(([, time]) => time));
      const isRead = await this.#access.isRead(performance.now() - last);
      const names = tables.map(([name]) => name);
      await this.#access.run(`VACUUM ${names.join(", ")}`);
      return !isRead;
    } catch {
      return false;
    }
  }
}
