import pLimit from "p-limit";
import { StoreError } from "../../../contract/store.js";
import { detach } from "../../../runtime.js";
import type { Job } from "./transaction.js";

/** The most writes in one transaction. The first waits for the last. */
const MAX_BATCH = 100;

/** The most writes of one world that wait. A crowd that logs in at once fits. */
const MAX_WAITING = 20_000;

/**
 * Runs writes. Writes of one world run one after another, in the order of arrival. Waiting
 * writes gather in one batch. A batch may wait long for the lock of its world, with a
 * connection, so there are only a few at once.
 */
export class Lanes {
  readonly #run: (world: string, batch: readonly Job[]) => Promise<void>;
  readonly #lanes = new Map<string, Job[]>();
  /** Writes that want the lock of all worlds wait here, and not each with a connection. */
  readonly #inTurn = pLimit(1);

  /** Batches wait here for the connections that writes may have. */
  readonly #turns: ReturnType<typeof pLimit>;

  /**
   * @param width how many batches run at once.
   * @param run gives each job its answer. It must not throw.
   */
  constructor(width: number, run: (world: string, batch: readonly Job[]) => Promise<void>) {
    this.#turns = pLimit(width);
    this.#run = run;
  }

  /** @throws {StoreError} `busy` if too many writes of this world wait. */
  add(world: string, job: Job): void {
    const lane = this.#lanes.get(world);
    if (lane && lane.length >= MAX_WAITING) {
      throw new StoreError("busy", "Too many writes of this world wait.");
    }
    if (lane) return void lane.push(job);
    const started = [job];
    this.#lanes.set(world, started);
    detach(this.#drive(world, started));
  }

  /** Runs the jobs of a world until none waits. */
  async #drive(world: string, lane: Job[]): Promise<void> {
    while (lane.length > 0) {
      // Jobs that come while this waits for its turn join the batch.
      const run = () => this.#turns(() => this.#run(world, nextOf(lane, MAX_BATCH)));
      await (lane[0]!.all ? this.#inTurn(run) : run());
    }
    this.#lanes.delete(world);
  }
}

/** Takes the jobs of one transaction: a job for all worlds alone, or some before the next one. */
function nextOf(lane: Job[], most: number): Job[] {
  const end = lane.findIndex(({ all }) => all);
  const count = end < 0 ? lane.length : Math.max(1, end);
  return lane.splice(0, Math.min(count, most));
}
