import type { Store } from "../../db/contract/store.js";
import { movesOf, type Webhook, type WebhookState } from "../../db/contract/webhook-store.js";
import { type TypeFilter, typeFilter } from "../../schemas/plain/feed.js";
import type { FeedItem } from "../feed/feed-items.js";
import { type Outbound, OutboundError } from "../outbound/outbound.js";
import { delayAfter, givesUp, type Message, signed } from "./message.js";
import type { Source } from "./source.js";

/** How many requests a process begins in a second, at most: each takes time that attendees wait for. */
const REQUESTS_PER_SECOND = 500;

/** How many may begin at once after a pause. */
const REQUEST_BURST = 20;

/** How often waiting requests get their turn, in milliseconds. */
const TURN_INTERVAL_MS = 10;

/** Lets requests begin at a bounded rate, in the order in which they asked. */
export class Pace {
  readonly #waiting: (() => void)[] = [];
  #left = REQUEST_BURST;
  #seen = performance.now();
  #timer: NodeJS.Timeout | undefined;

  /** Resolves when a request may begin. */
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

/** How long a try may take, in milliseconds. */
export const TRY_TIMEOUT_MS = 15_000;

/** How much of an answer is read. */
const MAX_ANSWER = 64 * 1024;

/** How a try ended. */
export interface Try {
  /** The status of the answer; null without one. */
  readonly status: number | null;
  /** Why it failed; null if it did not. */
  readonly error: string | null;
}

/** Sends a message to a receiver, once. */
export async function send(
  outbound: Outbound,
  { url, secret }: Pick<Webhook, "url" | "secret">,
  message: Message,
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

/** How often the position is stored while entries are delivered, in milliseconds. */
const CURSOR_INTERVAL_MS = 500;

/** The same while no entry is of its types: a position that lags by these costs only a read. */
const IDLE_CURSOR_INTERVAL_MS = 60_000;

/** For how long a holder may deliver after its last beat, in milliseconds; see `index.ts`. */
export const LEASE_MS = 20_000;

/** What a delivery works with. */
export interface DeliveryParts {
  readonly store: Store;
  readonly outbound: Outbound;
  readonly source: Source;
  readonly pace: Pace;
  /** The name of this process. */
  readonly holder: string;
  /** When the last beat was stored, by `performance.now()`. */
  readonly beatAt: () => number;
  readonly onFault: (error: unknown, world: string) => void;
}

/** Delivers to one webhook, one entry at a time, while this process holds it. */
export class Delivery {
  readonly #parts: DeliveryParts;
  readonly #stop = new AbortController();
  #hook: Webhook;
  #filter: TypeFilter;
  #state: WebhookState;
  /** The state that is stored. */
  #saved: WebhookState;
  /** Ends the present wait. */
  #wake = () => {};
  #isAwake = false;
  /** The settings may have changed. */
  #isOld = false;
  /** It has sent everything, and waits for new entries. */
  #isIdle = false;
  /** By `performance.now()`. */
  #savedAt = performance.now();
  readonly ended: Promise<void>;

  constructor(parts: DeliveryParts, hook: Webhook) {
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

  /** There may be new entries. If none is of its types, it goes on without a read. */
  wake(): void {
    if (this.#isIdle && this.#skip()) return;
    this.#isAwake = true;
    this.#wake();
  }

  /** The settings may have changed. */
  look(): void {
    this.#isOld = true;
    this.#isAwake = true;
    this.#wake();
  }

  /** Ends after the present try. */
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
    // If it is longer than any delay, the clock has been set back.
    if (rest > 0 && rest <= delayAfter(attempts, () => 1)) {
      return this.#wait(Math.min(rest, 60_000), true);
    }
    this.#isAwake = false;
    const { source } = this.#parts;
    const page = await source.read(this.#state.position);
    const { items, cursor, more } = page;
    const own = items.filter(({ type }) => this.#filter.has(type));
    for (const item of own) {
      await this.#parts.pace.turn();
      // It is read again.
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

  /** Goes beyond new entries if none is of its types. @returns whether it did. */
  #skip(): boolean {
    const { position } = this.#state;
    const to = this.#parts.source.skip(position, this.#filter);
    if (to === undefined) return false;
    if (to > position) this.#state = { ...this.#state, position: to };
    return true;
  }

  /** @returns whether the next entry is due. */
  async #deliver({ seq, type, at, json }: FeedItem): Promise<boolean> {
    // Another process could take it over during the try.
    while (performance.now() - this.#parts.beatAt() > LEASE_MS - TRY_TIMEOUT_MS - 1000) {
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
    const isOver = status === 410 || givesUp(now - since, attempts);
    this.#state = {
      ...this.#state,
      failing_since: since,
      attempts,
      last_status: status,
      last_error: error,
      next_try_at: isOver ? null : Math.round(now + delayAfter(attempts)),
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

  /** Reads the webhook again, and ends if it is no longer held. */
  async #reload(): Promise<void> {
    this.#isOld = false;
    const { store, holder } = this.#parts;
    const found = await store.webhooks.get(this.#hook.world, this.#hook.id);
    if (found?.holder !== holder || !found.enabled) {
      this.stop();
      return;
    }
    const { revision } = this.#hook;
    // What this process knows is later, unless a caller has named a position or ended a delay.
    const begins = movesOf(found) !== movesOf(this.#hook) || found.attempts < this.#saved.attempts;
    this.#hook = found;
    this.#filter = typeFilter(found.types);
    if (found.revision === revision) return;
    this.#saved = found;
    if (begins) this.#state = found;
    // A try during the change could not be noted.
    else await this.#save();
  }

  /** @param isDelay whether new entries do not end it. */
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
