import { Refusal } from "../http/errors.js";

/** Concurrency limits for one kind of work. */
export interface Bounds {
  /** Maximum number of pieces of work running concurrently in this process. */
  readonly atOnce: number;
  /** Maximum number of pieces of work running concurrently per world; defaults to `atOnce`. */
  readonly ofWorld?: number;
  /** Maximum number of pieces of work queued per world. */
  readonly waiting: number;
}

/** A queued piece of work. */
interface Waiter {
  readonly world: string;
  readonly begin: () => void;
}

/** Creates the refusal that aborts work whose client has disconnected. */
export const abandoned = (): Refusal => new Refusal(408, "The client disconnected.");

/**
 * Limits long-running work of one kind. Worlds take turns, so a busy world delays another world by
 * only one piece of work. Work is aborted when its client disconnects, which frees its slot.
 */
export class WorkQueue {
  readonly #running = new Map<string, number>();
  #total = 0;
  /** Queued work, in the order in which it runs. */
  #waiting: Waiter[] = [];
  readonly #ends = new Set<AbortController>();

  /** @param what completes the sentence "The server is busy with …". */
  constructor(
    readonly what: string,
    readonly bounds: Bounds,
  ) {}

  /**
   * Runs work as soon as a slot is free.
   * @param gone aborts when the client has disconnected.
   * @param work receives a signal that aborts when the client disconnects or the queue is closed.
   * The slot is freed when the work settles.
   * @throws {Refusal} 503 if the world has too much work queued or the queue is closed; 408 if the
   * client has disconnected.
   */
  async run<T>(
    world: string,
    gone: AbortSignal | undefined,
    work: (ended: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const end = new AbortController();
    const leave = () => end.abort(abandoned());
    if (gone?.aborted) leave();
    gone?.addEventListener("abort", leave, { once: true });
    this.#ends.add(end);
    try {
      await this.#claim(world, end.signal);
      try {
        return await work(end.signal);
      } finally {
        this.#free(world);
      }
    } finally {
      gone?.removeEventListener("abort", leave);
      this.#ends.delete(end);
    }
  }

  /** Aborts all work. */
  close(): void {
    const reason = new Refusal(503, "The server is stopping.");
    for (const end of this.#ends) end.abort(reason);
  }

  #claim(world: string, ended: AbortSignal): Promise<void> | undefined {
    ended.throwIfAborted();
    if (this.#hasCapacity(world)) {
      this.#take(world);
      return undefined;
    }
    const ahead = this.#waiting.filter((waiter) => waiter.world === world);
    if (ahead.length >= this.bounds.waiting) {
      throw new Refusal(503, `The server is busy with ${this.what}. Try again soon.`, {
        "retry-after": "2",
      });
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        world,
        begin() {
          ended.removeEventListener("abort", leave);
          resolve();
        },
      };
      const leave = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiter);
        reject(ended.reason as Error);
      };
      ended.addEventListener("abort", leave, { once: true });
      this.#waiting.push(waiter);
    });
  }

  #hasCapacity(world: string): boolean {
    const { atOnce, ofWorld = atOnce } = this.bounds;
    return this.#total < atOnce && (this.#running.get(world) ?? 0) < ofWorld;
  }

  #take(world: string): void {
    this.#total++;
    this.#running.set(world, (this.#running.get(world) ?? 0) + 1);
  }

  #free(world: string): void {
    this.#total--;
    const left = this.#running.get(world)! - 1;
    if (left > 0) this.#running.set(world, left);
    else this.#running.delete(world);
    const next = this.#waiting.find((waiter) => this.#hasCapacity(waiter.world));
    if (!next) return;
    this.#take(next.world);
    // Move the rest of this world's work behind the work of all other worlds.
    const isOfWorld = (waiter: Waiter) => waiter.world === next.world;
    const others = this.#waiting.filter((waiter) => waiter !== next);
    this.#waiting = [...others.filter((waiter) => !isOfWorld(waiter)), ...others.filter(isOfWorld)];
    next.begin();
  }
}
