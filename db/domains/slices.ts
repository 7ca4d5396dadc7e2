import { setTimeout as sleep } from "node:timers/promises";

/** Maximum size of a statement's input, in rows and (approximately) in characters. */
const MAX_ROWS = 5000;
const MAX_CHARACTERS = 4 * 1024 * 1024;

/**
 * Splits a list into slices that each fit into one statement.
 * @param sizeOf returns an entry's approximate size, in characters.
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

/** Target duration for which one slice of long work holds up other writes, in milliseconds. */
const GOAL_MS = 10;

/**
 * Minimum and maximum rows per slice. Even the minimum takes some milliseconds: on a slow disk, the
 * commit takes most of the time, so fewer rows would not be faster.
 */
const MIN_SLICE_ROWS = 200;
const MAX_SLICE_ROWS = 1000;

/**
 * Minimum and maximum pause after a slice, in milliseconds. Another process that waits for the
 * SQLite lock retries at least twice even during the shortest pause.
 */
const SHORTEST_PAUSE_MS = 6;
const LONGEST_PAUSE_MS = 25;

/**
 * Splits work on many rows into short writes, so that other writes need not wait long. Other writes
 * from this process run between the slices in any case; writes from other processes run during the
 * pauses.
 */
export class SlicedWork {
  #rows = MIN_SLICE_ROWS;
  #pause = 0;

  get rows(): number {
    return this.#rows;
  }

  /** Runs one slice, then adjusts the number of rows in the next slice to the target duration. */
  async slice<T>(write: () => Promise<T>): Promise<T> {
    // Pause before a slice rather than after it, so that no pause follows the last slice.
    if (this.#pause > 0) await sleep(this.#pause);
    const started = performance.now();
    const result = await write();
    const elapsed = performance.now() - started;
    const fitting = Math.floor((this.#rows * GOAL_MS) / elapsed);
    this.#rows = Math.max(MIN_SLICE_ROWS, Math.min(fitting, 2 * this.#rows, MAX_SLICE_ROWS));
    this.#pause = Math.max(SHORTEST_PAUSE_MS, Math.min(elapsed, LONGEST_PAUSE_MS));
    return result;
  }

  /** Runs slices until a slice reports that it was the last. @param write receives the number of rows to process. */
  async run(write: (rows: number) => Promise<boolean>): Promise<void> {
    while (!(await this.slice(() => write(this.#rows))));
  }
}
