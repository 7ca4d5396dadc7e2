import type { Clock } from "../../db/runtime.js";
import type { Counts, Snapshots } from "./snapshots.js";

/** Counts the activity of each world. To count is one lookup and one addition. */
export class Activity {
  readonly #snapshots: Snapshots;
  readonly #since: number;
  /** What this process has counted, by world. */
  readonly #worlds = new Map<string, { messages: number; slowReaders: number }>();

  constructor(clock: Clock, snapshots: Snapshots) {
    this.#snapshots = snapshots;
    this.#since = clock.date();
    snapshots.add({ describe: (world) => ({ counts: this.#own(world) }) });
  }

  /** Counts one more. */
  count(world: string, what: "messages" | "slowReaders"): void {
    let counts = this.#worlds.get(world);
    if (!counts) this.#worlds.set(world, (counts = { messages: 0, slowReaders: 0 }));
    counts[what]++;
    this.#snapshots.changed(world);
  }

  /** The counts of all processes that live, and when the first of them began. */
  of(world: string): Counts {
    const all = [...this.#snapshots.of(world)].map(({ counts }) => counts);
    return all.reduce(
      (sum, { messages, slowReaders, since }) => ({
        messages: sum.messages + messages,
        slowReaders: sum.slowReaders + slowReaders,
        since: Math.min(sum.since, since),
      }),
      this.#own(world),
    );
  }

  /** A world was deleted. */
  forget(world: string): void {
    this.#worlds.delete(world);
  }

  #own(world: string): Counts {
    const { messages, slowReaders } = this.#worlds.get(world) ?? { messages: 0, slowReaders: 0 };
    return { messages, slowReaders, since: this.#since };
  }
}
