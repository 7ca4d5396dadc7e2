import type { Store } from "../../db/contract/store.js";
import { movesOf, type WebhookRecord, type WebhookState } from "../../db/contract/webhook-store.js";
import { type TypeFilter, typeFilter } from "../../schemas/plain/feed.js";
import type { FeedItem } from "../feed/feed-items.js";
import { type Outbound, OutboundError } from "../outbound/outbound.js";
import { signed, type WebhookMessage } from "./message.js";
import { shouldDisable, retryDelay } from "./webhook-retries.js";
import type { Source } from "./source.js";

/** Maximum rate at which a process starts requests. Every request takes time from attendees' requests. */
const REQUESTS_PER_SECOND = 500;

/** Maximum burst of requests after a pause. */
const REQUEST_BURST = 20;

/** Interval at which waiting requests are released, in milliseconds. */
const TURN_INTERVAL_MS = 10;

/** Limits the rate at which requests start, in first-come, first-served order. */
export class RequestThrottle {
  readonly #waiting: (() => void)[] = [];
  #left = REQUEST_BURST;
  #seen = performance.now();
  #timer: NodeJS.Timeout | undefined;

  /** Resolves when the request may start. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#timer) this.#serve();
    });
  }

  #serve(): void {
    this.#timer = undefined;
    const now = performance.now();
    const earned = ((now - this.#seen) * REQUESTS_PER_SECOND) / 1000;
    this.#left = Math.min(REQUEST_BURST, this.#left + earned);
    this.#seen = now;
    while (this.#left >= 1 && this.#waiting.length > 0) {
      this.#left--;
      this.#waiting.shift()!();
    }
    if (this.#waiting.length > 0) {
      this.#timer = setTimeout(() => this.#serve(), TURN_INTERVAL_MS).unref();
    }
  }
}

/** Timeout for a try, in milliseconds. */
export const TRY_TIMEOUT_MS = 15_000;

/** Maximum number of response bytes to read. */
const MAX_ANSWER = 64 * 1024;

/** The outcome of a try. */
export interface Try {
  /** The status of the response; null if there was no response. */
  readonly status: number | null;
  /** The reason for the failure; null on success. */
  readonly error: string | null;
}

/** Sends a message to a receiver, without retries. */
export async function send(
  outbound: Outbound,
  { url, secret }: Pick<WebhookRecord, "url" | "secret">,
  message: WebhookMessage,
): Promise<Try> {
  try {
    const { status } = await outbound.send({
      url,
      method: "POST",
      ...signed(message, secret),
      timeout: TRY_TIMEOUT_MS,
      maxBytes: MAX_ANSWER,
      drops: true,
    });
    const isTaken = status >= 200 && status < 300;
    return { status, error: isTaken ? null : `status_${status}` };
  } catch (error) {
    if (error instanceof OutboundError) {
      return { status: null, error: error.code };
    }
    throw error;
  }
}

/** Interval at which the position is stored during delivery, in milliseconds. */
const CURSOR_INTERVAL_MS = 500;

/**
 * Like {@link CURSOR_INTERVAL_MS}, while no entry has a type that the webhook selects: a stale
 * position then costs only a read.
 */
const IDLE_CURSOR_INTERVAL_MS = 60_000;

/** Time for which a holder may deliver after its last heartbeat, in milliseconds; see `webhook-plugin.ts`. */
export const LEASE_MS = 20_000;

/** A delivery's dependencies. */
export interface DeliveryParts {
  readonly store: Store;
  readonly outbound: Outbound;
  readonly source: Source;
  readonly pace: RequestThrottle;
  /** The name of this process. */
  readonly holder: string;
  /** Returns the time of the last stored heartbeat, by `performance.now()`. */
  readonly renewedAt: () => number;
  readonly onFault: (error: unknown, world: string) => void;
}

/** Delivers to one webhook, one entry at a time, while this process holds the webhook. */
export class WebhookDelivery {
  readonly #parts: DeliveryParts;
  readonly #stop = new AbortController();
  #hook: WebhookRecord;
  #filter: TypeFilter;
  #state: WebhookState;
  /** The state as last stored. */
  #saved: WebhookState;
  /** Ends the current wait. */
  #wake = () => {};
  #isAwake = false;
  /** Whether the settings may have changed. */
  #isOld = false;
  /** Whether all entries have been sent, and the delivery waits for new entries. */
  #isIdle = false;
  /** The time of the last save, by `performance.now()`. */
  #savedAt = performance.now();
  readonly ended: Promise<void>;

  constructor(parts: DeliveryParts, hook: WebhookRecord) {
    this.#parts = parts;
    this.#hook = hook;
    this.#filter = typeFilter(hook.types);
    this.#state = hook;
    this.#saved = hook;
    this.ended = this.#run();
  }

  get world(): string {
    return this.#hook.world;
  }

  /**
   * Wakes the delivery, because there may be new entries. If the filter matches no new entry, the
   * new entries are skipped without a read.
   */
  wake(): void {
    if (this.#isIdle && this.#skip()) return;
    this.#isAwake = true;
    this.#wake();
  }

  /** Makes the delivery reload its webhook, because the settings may have changed. */
  invalidateSettings(): void {
    this.#isOld = true;
    this.#isAwake = true;
    this.#wake();
  }

  /** Stops the delivery after the current try. */
  stop(): void {
    this.#stop.abort();
    this.#wake();
  }

  get #isOver(): boolean {
    return this.#stop.signal.aborted;
  }

  async #run(): Promise<void> {
    let pause = 100;
    while (!this.#isOver) {
      try {
        await this.#step();
        pause = 100;
      } catch (error) {
        this.#parts.onFault(error, this.world);
        await this.#wait(pause);
        pause = Math.min(2 * pause, 5000);
      }
    }
    await this.#save().catch(() => {});
  }

  /** Delivers a page, or waits. */
  async #step(): Promise<void> {
    if (this.#isOld) await this.#reload();
    if (this.#isOver) return;
    const { attempts, next_try_at } = this.#state;
    const rest = (next_try_at ?? 0) - Date.now();
    // A remaining time longer than any delay means that the clock was set back.
    if (rest > 0 && rest <= retryDelay(attempts, () => 1)) {
      return this.#wait(Math.min(rest, 60_000), true);
    }
    this.#isAwake = false;
    const { source } = this.#parts;
    const page = await source.read(this.#state.position);
    const { items, cursor, more } = page;
    const own = items.filter(({ type }) => this.#filter.has(type));
    for (const item of own) {
      await this.#parts.pace.turn();
      // The next step re-reads the page.
      if (this.#isOver || this.#isOld || page.isStale()) return;
      if (!(await this.#deliver(item))) return;
    }
    if (cursor > this.#state.position) {
      this.#state = { ...this.#state, position: cursor };
    }
    if (more || this.#isOld) return;
    const isDue =
      this.#state.position !== this.#saved.position &&
      performance.now() - this.#savedAt >= IDLE_CURSOR_INTERVAL_MS;
    if (own.length > 0 || isDue) await this.#save();
    if (this.#isAwake) return;
    this.#isIdle = true;
    await this.#wait(IDLE_CURSOR_INTERVAL_MS);
    this.#isIdle = false;
  }

  /**
   * Skips new entries if the filter matches no new entry.
   * @returns whether the new entries were skipped.
   */
  #skip(): boolean {
    const { position } = this.#state;
    const to = this.#parts.source.skip(position, this.#filter);
    if (to === undefined) return false;
    if (to > position) this.#state = { ...this.#state, position: to };
    return true;
  }

  /**
   * Delivers an entry, and updates the state.
   * @returns whether to continue with the next entry.
   */
  async #deliver({ seq, type, at, json }: FeedItem): Promise<boolean> {
    // Wait for a heartbeat that covers the whole try, because another process could otherwise take
    // over the webhook during the try.
    while (performance.now() - this.#parts.renewedAt() > LEASE_MS - TRY_TIMEOUT_MS - 1000) {
      if (this.#isOver) return false;
      await this.#wait(200);
    }
    const { world, id } = this.#hook;
    const message = { id: `${world}.${seq}.${id}`, type, at, data: json };
    const { status, error } = await send(this.#parts.outbound, this.#hook, message);
    const now = Date.now();
    if (error === null) {
      const wasFailing = this.#state.failing_since !== null;
      this.#state = {
        position: seq,
        delivered_at: now,
        failing_since: null,
        last_status: status,
        last_error: null,
        next_try_at: null,
        attempts: 0,
      };
      const sinceSaved = performance.now() - this.#savedAt;
      if (wasFailing || sinceSaved > CURSOR_INTERVAL_MS) await this.#save();
      return true;
    }
    const attempts = this.#state.attempts + 1;
    // The clock may have been set back.
    const since = Math.min(this.#state.failing_since ?? now, now);
    const isOver = status === 410 || shouldDisable(now - since, attempts);
    this.#state = {
      ...this.#state,
      failing_since: since,
      attempts,
      last_status: status,
      last_error: error,
      next_try_at: isOver ? null : Math.round(now + retryDelay(attempts)),
    };
    if (isOver) await this.#disable();
    else await this.#save();
    return false;
  }

  async #disable(): Promise<void> {
    const { store, holder } = this.#parts;
    const { world, id, revision } = this.#hook;
    const of = { revision, holder };
    const done = await store.webhooks.disable(world, id, of, this.#state, { kind: "server" });
    if (done) this.stop();
    else this.#isOld = true;
  }

  async #save(): Promise<void> {
    const { store, holder } = this.#parts;
    const { world, id, revision } = this.#hook;
    this.#savedAt = performance.now();
    const of = { revision, holder };
    const state = this.#state;
    if (await store.webhooks.note(world, id, of, state)) {
      this.#saved = state;
    } else this.#isOld = true;
  }

  /** Reloads the webhook, and stops if this process no longer holds it. */
  async #reload(): Promise<void> {
    this.#isOld = false;
    const { store, holder } = this.#parts;
    const found = await store.webhooks.get(this.#hook.world, this.#hook.id);
    if (found?.holder !== holder || !found.enabled) {
      this.stop();
      return;
    }
    const { revision } = this.#hook;
    // This process's state is newer than the stored state, unless a caller has set a position or
    // cleared a delay.
    const begins = movesOf(found) !== movesOf(this.#hook) || found.attempts < this.#saved.attempts;
    this.#hook = found;
    this.#filter = typeFilter(found.types);
    if (found.revision === revision) return;
    this.#saved = found;
    if (begins) this.#state = found;
    // A try that ran during the change could not be saved.
    else await this.#save();
  }

  /** @param isDelay whether the wait continues when new entries arrive. */
  async #wait(ms: number, isDelay = false): Promise<void> {
    if (this.#isOver) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#wake = () => {
        if (isDelay && !this.#isOld && !this.#isOver) return;
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = () => {};
  }
}
