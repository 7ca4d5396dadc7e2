import { setTimeout as sleep } from "node:timers/promises";

/** How many rows a statement takes at most, and about how many characters. */
const MAX_ROWS = 5000;
const MAX_CHARACTERS = 4 * 1024 * 1024;

/**
 * Cuts a list into slices that a statement can take.
 * @param sizeOf about how many characters an entry has.
 */
export function* slices<T>(entries: Iterable<T>, sizeOf: (entry: T) => number): Generator<T[]> {
  let slice: T[] = [];
  let size = 0;
  for (const entry of entries) {
    slice.push(entry);
    size += sizeOf(entry);
    if (slice.length < MAX_ROWS && size < MAX_CHARACTERS) continue;
    yield slice;
    slice = [];
    size = 0;
  }
  if (slice.length > 0) yield slice;
}

/** How long one slice of long work should keep other writes waiting, in milliseconds. */
const GOAL_MS = 10;

/**
 * How many rows a slice has at least and at most. The least take some milliseconds: on a slow disk, the
 * commit takes most of the time, and fewer rows would not make it shorter.
 */
const LEAST_ROWS = 200;
const MOST_ROWS = 1000;

/**
 * The shortest and the longest pause after a slice, in milliseconds. In the shortest, another process
 * that waits for the lock of SQLite asks for it at least twice.
 */
const SHORTEST_PAUSE_MS = 6;
const LONGEST_PAUSE_MS = 25;

/**
 * Work on many rows, cut into writes that are short enough for others to wait for. Writes of this
 * process come in between by themselves, and those of other processes during the pauses.
 */
export class SlicedWork {
  #rows = LEAST_ROWS;
  #pause = 0;

  get rows(): number {
    return this.#rows;
  }

  /** Runs one slice. The next one has as many rows as fit the time. */
  async slice<T>(write: () => Promise<T>): Promise<T> {
    // No pause follows the last slice.
    if (this.#pause > 0) await sleep(this.#pause);
    const started = performance.now();
    const result = await write();
    const took = performance.now() - started;
    const fitting = Math.floor((this.#rows * GOAL_MS) / took);
    this.#rows = Math.max(LEAST_ROWS, Math.min(fitting, 2 * this.#rows, MOST_ROWS));
    this.#pause = Math.max(SHORTEST_PAUSE_MS, Math.min(took, LONGEST_PAUSE_MS));
    return result;
  }

  /** Runs slices until one says that it was the last. @param write gets how many rows it should have. */
  async run(write: (rows: number) => Promise<boolean>): Promise<void> {
    while (!(await this.slice(() => write(this.#rows))));
  }
}
