import type { Clock } from "../../db/runtime.js";

/** A rate limit: a bucket that refills at a rate and holds a burst. */
export class TokenBucket {
  #tokens: number;
  #at: number;

  /**
   * @param rate tokens per second.
   * @param burst capacity of the bucket, as a multiple of the rate.
   */
  constructor(
    readonly rate: number,
    readonly burst: number,
    readonly clock: Clock,
  ) {
    this.#tokens = rate * burst;
    this.#at = clock.now();
  }

  /**
   * Takes tokens if there are enough, and otherwise none.
   * @returns whether tokens were taken.
   */
  take(count = 1): boolean {
    this.#refill();
    if (this.#tokens < count) return false;
    this.#tokens -= count;
    return true;
  }

  /** Takes tokens unconditionally, even if there are not enough: the next caller then has to wait for the refill. */
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

  /** Whether all tokens have been refilled. */
  get isFull(): boolean {
    this.#refill();
    return this.#tokens >= this.rate * this.burst;
  }

  /** Time until a token is available, in milliseconds. */
  get wait(): number {
    this.#refill();
    return Math.max(0, (1000 * (1 - this.#tokens)) / this.rate);
  }
}

/** Burst of commands, as a multiple of the rate. */
const COMMAND_BURST = 6;

/**
 * Limits the rate at which a connection's messages are handled. Messages above the rate are
 * refused. Refusals cost time as well, so they have a rate limit of the same size; messages above
 * that limit wait.
 */
export class FrameRateLimit {
  readonly #commands: TokenBucket;
  #refusals: TokenBucket | undefined;

  /** @param rate maximum number of commands per second. */
  constructor(clock: Clock, rate: number) {
    this.#commands = new TokenBucket(rate, COMMAND_BURST, clock);
  }

  /**
   * Counts a message.
   * @returns whether the message may be handled; undefined if the message can be neither handled
   * nor refused before {@link wait} has passed.
   */
  take(): boolean | undefined {
    if (this.#commands.take()) return true;
    this.#refusals ??= new TokenBucket(this.#commands.rate, COMMAND_BURST, this.#commands.clock);
    return this.#refusals.take() ? false : undefined;
  }

  /** Time until {@link take} should be called again, in milliseconds. */
  get wait(): number {
    return this.#refusals?.wait ?? 0;
  }
}

/** Maximum time spent on messages in one turn of the event loop, in milliseconds. */
const TURN_BUDGET_MS = 4;

/** Number of waiting connections resumed per turn. */
const RESUMED_PER_TURN = 8;

/**
 * Shares the event loop between the messages of all connections and everything else. Messages are
 * often handled in microtasks alone, so a client that sends endlessly would otherwise block the
 * process.
 */
export class LoopTurns {
  /** When the budget of this turn ends; 0 if no message has been handled in this turn. */
  #end = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Requests a turn for a message.
   * @returns a promise to wait for, or undefined if the message may be handled immediately.
   */
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

/** Maximum number of buckets. When the maximum is reached, the older half of the buckets is evicted. */
const MAX_BUCKETS = 100_000;

/** Minimum number of buckets before full buckets are removed. */
const SWEPT_BUCKETS = 1000;

/** A rate limit for each of many keys. A full bucket is removed, because it is equivalent to a new bucket. */
export class Buckets {
  /** The buckets by key, oldest first. */
  readonly #buckets = new Map<string, TokenBucket>();
  /** Number of buckets that triggers the next removal of full buckets. */
  #sweepAt = SWEPT_BUCKETS;

  /**
   * @param rate tokens per second.
   * @param burst capacity of a bucket, as a multiple of the rate.
   */
  constructor(
    readonly clock: Clock,
    readonly rate: number,
    readonly burst: number,
  ) {}

  get size(): number {
    return this.#buckets.size;
  }

  /**
   * Takes tokens for a key if there are enough, and otherwise none.
   * @returns whether tokens were taken.
   */
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

  /**
   * Removes full buckets. The next sweep runs once there are twice as many buckets, so that the
   * amortized cost is low.
   */
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
