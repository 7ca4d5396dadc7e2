import pLimit from "p-limit";
import type { Job } from "./transaction.js";

/** The most writes in one transaction. The first waits for the last. */
const MAX_BATCH = 100;

/**
 * Runs writes: those of one world one after another, in the order in which they came.
 * Those that wait gather in one batch.
 */
export class Lanes {
  readonly #run: (world: string, batch: readonly Job[]) => Promise<void>;
  /** What waits, by world. */
  readonly #lanes = new Map<string, Job[]>();
  /** Those who want the lock of all worlds wait here, and not each with a connection. */
  readonly #inTurn = pLimit(1);

  /** @param run gives each job its answer. It must not throw. */
  constructor(run: (world: string, batch: readonly Job[]) => Promise<void>) {
    this.#run = run;
  }

  add(world: string, job: Job): void {
    const lane = this.#lanes.get(world);
    if (lane) return void lane.push(job);
    const started = [job];
    this.#lanes.set(world, started);
    void this.#drive(world, started);
  }

  /** Runs the jobs of a world until none waits. */
  async #drive(world: string, lane: Job[]): Promise<void> {
    while (lane.length > 0) {
      const end = lane.findIndex(({ all }) => all);
      const count = end < 0 ? lane.length : Math.max(1, end);
      const batch = lane.splice(0, Math.min(count, MAX_BATCH));
      const run = () => this.#run(world, batch);
      await (batch[0]!.all ? this.#inTurn(run) : run());
    }
    this.#lanes.delete(world);
  }
}
