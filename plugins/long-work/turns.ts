import { Refusal } from "../http/errors.js";

/** How much work of one kind there may be. */
export interface Bounds {
  /** How many run at once in this process. */
  readonly atOnce: number;
  /** How many of one world run at once; as many as of all by default. */
  readonly ofWorld?: number;
  /** How many of one world may wait. */
  readonly waiting: number;
}

/** A place that somebody waits for. */
interface Waiter {
  readonly world: string;
  readonly begin: () => void;
}

/** The refusal that ends the work of a client that has left. */
export const abandoned = (): Refusal => new Refusal(408, "The client went away.");

/**
 * Bounds long work of one kind. Worlds take turns, so one that asks for much delays another one by
 * one piece of work. Work ends with its client, and its place is free at once.
 */
export class Turns {
  readonly #running = new Map<string, number>();
  #total = 0;
  /** In the order of their turns. */
  #waiting: Waiter[] = [];
  readonly #ends = new Set<AbortController>();

  /** @param what the work is, as the end of the sentence "The server is busy with …". */
  constructor(
    readonly what: string,
    readonly bounds: Bounds,
  ) {}

  /**
   * Does some work when there is a place for it.
   * @param gone aborts when the client has left.
   * @param work gets a signal that aborts with its client, or when this closes. Its place is free when it settles.
   * @throws {Refusal} 503 if too much of the world waits; 408 if the client has left.
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
      await this.#place(world, end.signal);
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

  /** Ends all work. */
  close(): void {
    const reason = new Refusal(503, "The server is stopping.");
    for (const end of this.#ends) end.abort(reason);
  }

  #place(world: string, ended: AbortSignal): Promise<void> | undefined {
    ended.throwIfAborted();
    if (this.#hasPlace(world)) {
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

  #hasPlace(world: string): boolean {
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
    const next = this.#waiting.find((waiter) => this.#hasPlace(waiter.world));
    if (!next) return;
    this.#take(next.world);
    // The rest of its world waits for all others.
    const isOfWorld = (waiter: Waiter) => waiter.world === next.world;
    const others = this.#waiting.filter((waiter) => waiter !== next);
    this.#waiting = [...others.filter((waiter) => !isOfWorld(waiter)), ...others.filter(isOfWorld)];
    next.begin();
  }
}
