import { setTimeout as sleep } from "node:timers/promises";
import { detach } from "../../detach.js";
import { type MaintenanceLog, OverdueErasures } from "../../overdue.js";

/** How long after an erasure its tables are vacuumed, in milliseconds, so that several erasures cost one. */
const DELAY = 1000;

/** The pause after a failure, or while a transaction still reads erased rows, in milliseconds. */
const RETRY = 5000;

/** How often a process that ends tries again, and the pause before, in milliseconds. */
const LAST_TRIES = 5;
const LAST_PAUSE = 100;

/** The part of the database that {@link Vacuum} uses. */
interface VacuumAccess {
  /** Runs a statement outside of any transaction. */
  run: (statement: string) => Promise<void>;
  /** Whether a transaction reads the state of some milliseconds ago: its rows cannot be removed. */
  isRead: (age: number) => Promise<boolean>;
}

/** Removes the dead versions of erased rows soon after. */
export class Vacuum {
  readonly #access: VacuumAccess;
  readonly #overdue: OverdueErasures;
  /** The tables to vacuum, and the time of the last erasure in each. */
  readonly #tables = new Map<string, number>();
  /** The time of the first erasure since nothing was left. */
  #since: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;

  constructor(access: VacuumAccess, log?: MaintenanceLog) {
    this.#access = access;
    this.#overdue = new OverdueErasures(log);
  }

  /** How long erased rows have been there, in seconds; 0 if there are none. */
  age(): number {
    return this.#since === undefined
      ? 0
      : (performance.now() - this.#since) / 1000;
  }

  /** These tables have dead rows with erased data. */
  add(tables: Iterable<string>): void {
    const now = performance.now();
    for (const table of tables) this.#tables.set(table, now);
    if (this.#tables.size === 0) return;
    this.#since ??= now;
    this.#schedule(DELAY);
  }

  /** Vacuums the rest. It waits a moment for transactions that still read it. */
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
      // Erasures in between have a later time.
      for (const [table, time] of tables) {
        if (!this.#tables.has(table)) this.#tables.set(table, time);
      }
    });
    await this.#working;
    this.#working = undefined;
    if (this.#tables.size === 0) this.#since = undefined;
    if (this.#tables.size > 0 && retry > 0) this.#schedule(retry);
  }

  /** @returns whether nothing is left. */
  async #vacuum(tables: readonly [name: string, time: number][]) {
    try {
      const last = Math.max(...tables.map(([, time]) => time));
      const isRead = await this.#access.isRead(performance.now() - last);
      const names = tables.map(([name]) => name);
      await this.#access.run(`VACUUM ${names.join(", ")}`);
      if (isRead) throw new Error("a transaction reads an earlier state");
      this.#overdue.succeeded();
      return true;
    } catch (error) {
      this.#overdue.failed(error);
      return false;
    }
  }
}
