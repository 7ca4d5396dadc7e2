import type { Clock } from "../../db/runtime.js";

/** Bounds a rate: a bucket that refills at a rate and holds a burst. */
export class TokenBucket {
  #tokens: number;
  #at: number;

  /**
   * @param rate how many a second.
   * @param burst how many times the rate may come at once.
   */
  constructor(
    readonly rate: number,
    readonly burst: number,
    readonly clock: Clock,
  ) {
    this.#tokens = rate * burst;
    this.#at = clock.now();
  }

  /** Takes tokens. @returns whether there were enough; otherwise it takes none. */
  take(count = 1): boolean {
    this.#refill();
    if (this.#tokens < count) return false;
    this.#tokens -= count;
    return true;
  }

  /** Takes tokens, even in advance: the next caller waits for them. */
  spend(count: number): void {
    this.#refill();
    this.#tokens -= count;
  }

  #refill(): void {
    const now = this.clock.now();
    const refilled = this.#tokens + ((now - this.#at) / 1000) * this.rate;
    this.#tokens = Math.min(this.rate * this.burst, refilled);
    this.#at = now;
  }

  /** Whether nothing was taken that is not refilled. */
  get isFull(): boolean {
    this.#refill();
    return this.#tokens >= this.rate * this.burst;
  }

  /** After how many milliseconds there is a token. */
  get wait(): number {
    this.#refill();
    return Math.max(0, (1000 * (1 - this.#tokens)) / this.rate);
  }
}

/** A burst of commands is this many times the rate. */
const COMMAND_BURST = 6;

/**
 * How fast the messages of a connection are carried out. Messages above the rate are
 * refused, but refusals cost time as well. So they have the same rate, and beyond it
 * messages wait.
 */
export class Pace {
  readonly #commands: TokenBucket;
  #refusals: TokenBucket | undefined;

  /** @param rate how many commands a second are carried out. */
  constructor(clock: Clock, rate: number) {
    this.#commands = new TokenBucket(rate, COMMAND_BURST, clock);
  }

  /**
   * Counts a message.
   * @returns whether the message may be carried out; undefined if it can be neither
   *   carried out nor refused before {@link wait} has passed.
   */
  take(): boolean | undefined {
    if (this.#commands.take()) return true;
    this.#refusals ??= new TokenBucket(this.#commands.rate, COMMAND_BURST, this.#commands.clock);
    return this.#refusals.take() ? false : undefined;
  }

  /** After how many milliseconds to call {@link take} again. */
  get wait(): number {
    return this.#refusals?.wait ?? 0;
  }
}

/** How long messages may be carried out in one turn of the event loop, in milliseconds. */
const TURN_BUDGET_MS = 4;

/** How many connections that waited go on in one turn. */
const RESUMED_PER_TURN = 8;

/**
 * Shares the event loop between the messages of all connections and everything
 * else. Messages are often carried out in microtasks alone, so without it a client
 * that sends without end would stop the process.
 */
export class Turns {
  /** When the budget of this turn ends; 0 while it is unused. */
  #end = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Asks whether a message may be carried out. @returns a promise to wait for; undefined if it may be now. */
  take(): Promise<void> | undefined {
    const now = this.#clock.now();
    if (this.#end === 0) {
      this.#end = now + TURN_BUDGET_MS;
      this.#clock.soon(this.#next);
    } else if (now >= this.#end) {
      return new Promise((resolve) => this.#waiting.push(resolve));
    }
    return undefined;
  }

  readonly #next = (): void => {
    if (this.#waiting.length === 0) {
      this.#end = 0;
      return;
    }
    this.#end = this.#clock.now() + TURN_BUDGET_MS;
    this.#clock.soon(this.#next);
    for (const goOn of this.#waiting.splice(0, RESUMED_PER_TURN)) goOn();
  };
}

/** How many buckets are kept at most. Beyond it, the older half goes. */
const MAX_BUCKETS = 100_000;

/** The number of buckets from which on full ones are removed. */
const SWEPT_BUCKETS = 1000;

/**
 * A rate for each of many keys. A bucket is kept until it is full again: from then on it
 * is like a new one.
 */
export class Buckets {
  /** The oldest comes first. */
  readonly #buckets = new Map<string, TokenBucket>();
  /** With how many buckets the full ones are forgotten. */
  #sweepAt = SWEPT_BUCKETS;

  /**
   * @param rate how many a second.
   * @param burst how many times the rate may come at once.
   */
  constructor(
    readonly clock: Clock,
    readonly rate: number,
    readonly burst: number,
  ) {}

  /** How many buckets are kept. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Takes tokens of a key. @returns whether there were enough; otherwise it takes none. */
  take(key: string, count: number): boolean {
    return this.#of(key).take(count);
  }

  #of(key: string): TokenBucket {
    let bucket = this.#buckets.get(key);
    if (!bucket) {
      if (this.#buckets.size >= this.#sweepAt) this.#sweep();
      bucket = new TokenBucket(this.rate, this.burst, this.clock);
      this.#buckets.set(key, bucket);
    }
    return bucket;
  }

  /** Forgets the full ones. It runs again with twice as many, so each costs little. */
  #sweep(): void {
    const buckets = this.#buckets;
    for (const [key, bucket] of buckets) {
      if (bucket.isFull) buckets.delete(key);
    }
    if (buckets.size >= MAX_BUCKETS) {
      for (const key of [...buckets.keys()].slice(0, MAX_BUCKETS / 2)) {
        buckets.delete(key);
      }
    }
    this.#sweepAt = Math.min(Math.max(SWEPT_BUCKETS, 2 * buckets.size), MAX_BUCKETS);
  }
}
