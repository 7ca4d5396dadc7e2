import type { FastifyBaseLogger } from "fastify";
import { StoreError } from "../../db/contract/store.js";
import { detach, type Clock, nextTurn, sleep } from "../../db/runtime.js";
import type { FlushQueue } from "../socket/outgoing.js";

/** Initial retry delay, in milliseconds. It doubles with each attempt, up to the maximum. */
const FIRST_RETRY_DELAY_MS = 50;
const MAX_RETRY_DELAY_MS = 2000;

/**
 * How long users may keep receiving pushes under their old rights while a change to their rights is
 * pending, in milliseconds. Together with the delay for batching changes to a world, this adds up
 * to one second.
 */
const LATE_AFTER_MS = 700;

/** Minimum number of connections in a crowd. Smaller audiences are served immediately. */
const CROWD_CONNECTIONS = 200;

/** Bounds of the interval between flushes to a crowd, in milliseconds. */
const MIN_FLUSH_INTERVAL_MS = 8;
const MAX_FLUSH_INTERVAL_MS = 100;

/** Minimum interval between pushes of a frequently changing value, in milliseconds. */
const THROTTLE_INTERVAL_MS = 250;

/** Rate limit for frequently changing values, in bytes per second, for all people in a scope together. */
const SCOPE_BYTES_PER_SECOND = 50_000_000;

/**
 * Rate limit for frequently changing values per recipient, in bytes per second: a fifth of a 10
 * Mbit/s link, because messages also need bandwidth.
 */
const READER_BYTES_PER_SECOND = 250_000;

/** Allowed burst, in milliseconds of traffic at the above rates. */
const BURST_MS = 50;

/** Whether an audience of this size is a crowd, which receives queued pushes in batches. */
export const isCrowd = (size: number): boolean => size >= CROWD_CONNECTIONS;

/** The authors of the changes in a push: the ids of users and connections. */
export type Authors = ReadonlySet<string>;

/** The traffic that a push caused. */
export interface SentCounts {
  /** Number of bytes sent to all recipients together. */
  readonly total: number;
  /** Maximum number of bytes sent to a single recipient. */
  readonly each: number;
}

export const nothingSent: SentCounts = { total: 0, each: 0 };

/** A queued action that reads the store, and then sends pushes. */
type Act = () => Promise<unknown>;

/** Retry policy for an action. */
interface Persistence {
  /** Whether to retry after an error. By default, only store errors are retried. */
  readonly isRepeated?: (error: unknown) => boolean;
  /** Whether the action is no longer needed. */
  readonly isOver?: () => boolean;
  /** Called after the first failure. */
  readonly onFault?: () => void;
}

/** Options for a queued action. */
interface Queued extends Persistence {
  /** Number of recipients. If they are a crowd, the action waits for the next flush. */
  readonly size?: () => number;
}

/** The latest value of something that changes frequently. */
interface Latest extends Queued {
  readonly authors: Iterable<string>;
  /** Sends the value that is current when the push is due. */
  readonly send: (authors: Authors) => Promise<SentCounts>;
}

/** Throttling options for a key's pushes or actions. */
export interface Interval {
  /** Minimum time between two runs, in milliseconds; defaults to 250. */
  readonly interval?: number;
  /** Whether the first change is delayed too, so that it is batched with later changes. */
  readonly collects?: boolean;
}

/** The state of one key. The slot exists while an action is due, and for one interval after an action has run. */
interface Slot {
  /** The action to run at `dueAt`; undefined if nothing is waiting. */
  act: (() => Promise<unknown> | void) | undefined;
  dueAt: number;
  interval: number;
  isBusy: boolean;
  latest?: Latest;
  authors: Set<string>;
  /** Whether the action is waiting because the rate limit has been reached. */
  isUnpaid: boolean;
}

/** Dependencies of outboxes. */
export interface OutboxPorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  /** The queue of writes to sockets. The next flush to a crowd waits until this queue has drained. */
  readonly flushQueue: Pick<FlushQueue, "waiting" | "drained">;
}

/** Whether an error comes from the store, and may therefore be transient. Any other error is a bug in Foyer. */
const isOfStore = (error: unknown): boolean => error instanceof StoreError;

/**
 * Everything waiting to be sent to the people in one scope: a world, a room or a channel. The queue
 * is sent in order: if the store fails, the current action is retried and the rest of the queue
 * waits. For frequently changing values, only the latest value per key is kept, until the key's
 * interval has passed.
 *
 * A crowd receives queued pushes in batches, because a socket write costs the same regardless of
 * its size. If the scope is quiet, a batch is sent immediately. Otherwise, it is sent once the
 * sockets have accepted the previous batch; the longer the scope stays busy, the longer the
 * interval between batches.
 */
class Outbox {
  readonly #ports: OutboxPorts;
  readonly #all: Outboxes;
  readonly #forget: () => void;
  /** The tail of the queue; undefined if the queue is empty. */
  #end: Promise<void> | undefined;
  /** Number of actions queued so far, and number of actions covered by the last flush. */
  #queued = 0;
  #flushed = 0;
  /** The interval between flushes, and the earliest time of the next flush. */
  #window = MIN_FLUSH_INTERVAL_MS;
  #nextFlush = -Infinity;
  /** The time at which the bytes sent so far will be within the rate limits. */
  #paidAt = -Infinity;
  readonly #slots = new Map<string, Slot>();
  #stopTimer = () => {};

  constructor(all: Outboxes, ports: OutboxPorts, forget: () => void) {
    this.#all = all;
    this.#ports = ports;
    this.#forget = forget;
  }

  /** Resolves once everything currently in the queue has run; undefined if the queue is empty. */
  get ended(): Promise<void> | undefined {
    return this.#end;
  }

  /** Queues an action to run after everything already in the queue. */
  add(act: Act, options: Queued = {}): void {
    detach(this.#add(act, options));
  }

  /** @returns a promise that never rejects. */
  #add(act: Act, options: Queued): Promise<void> {
    const { size } = options;
    const number = ++this.#queued;
    return this.#append(async () => {
      if (size && isCrowd(size())) await this.#flush(number);
      await this.#all.persist(act, options);
    });
  }

  /**
   * Revokes rights in queue order, and retries after any error.
   * @param onLate called after the first failure, or if the action takes too long. From then on,
   * affected users must not receive pushes until the queue has {@link ended}.
   * @param isOver whether all affected users have left.
   */
  enforce(act: Act, onLate: () => void, isOver: () => boolean): void {
    let isLate = false;
    const late = () => {
      if (!isLate) onLate();
      isLate = true;
    };
    const stop = this.#ports.clock.after(LATE_AFTER_MS, late);
    const run = async () => {
      // Reads in this turn may see a state older than the entry that revokes the rights.
      await nextTurn(this.#ports.clock);
      await this.#all.persist(act, { isRepeated: () => true, isOver, onFault: late });
      stop();
      isLate = true;
    };
    detach(this.#append(run));
  }

  /** Runs an action when it is due, independently of the queue. Replaces a waiting action with the same key. */
  later(key: string, act: () => void, options: Interval = {}): void {
    if (this.#all.closed) return;
    this.#slot(key, options).act = act;
    this.#look();
  }

  /** Queues the latest value of a key, as often as its interval and the rate limits allow. */
  latest(key: string, latest: Latest, options: Interval = {}): void {
    if (this.#all.closed) return;
    const slot = this.#slot(key, options);
    for (const author of latest.authors) slot.authors.add(author);
    slot.latest = latest;
    slot.act = () => this.#sendLatest(slot, latest);
    this.#look();
  }

  /** Stops the timer, and drops everything that is waiting for it. */
  close(): void {
    this.#stopTimer();
    this.#slots.clear();
  }

  #append(run: Act): Promise<void> {
    const runAndForget = async () => {
      await run();
      if (this.#end !== ended) return;
      this.#end = undefined;
      this.#look();
    };
    const ended = this.#end ? this.#end.then(runAndForget) : runAndForget();
    this.#end = ended;
    return ended;
  }

  /** Waits for the next flush, which covers all actions queued by the time the flush begins. */
  async #flush(number: number): Promise<void> {
    if (number <= this.#flushed) return;
    const { clock, flushQueue } = this.#ports;
    const rest = this.#nextFlush - clock.now();
    const isQuiet = rest <= 0 && flushQueue.waiting === 0;
    if (!isQuiet) {
      if (rest >= 1) await sleep(clock, rest);
      await flushQueue.drained();
    }
    this.#window = isQuiet
      ? MIN_FLUSH_INTERVAL_MS
      : Math.min(2 * this.#window, MAX_FLUSH_INTERVAL_MS);
    this.#nextFlush = clock.now() + this.#window;
    this.#flushed = this.#queued;
  }

  #slot(key: string, { interval = THROTTLE_INTERVAL_MS, collects = false }: Interval): Slot {
    let slot = this.#slots.get(key);
    if (!slot) {
      const dueAt = this.#ports.clock.now() + (collects ? interval : 0);
      slot = {
        act: undefined,
        dueAt,
        interval,
        isBusy: false,
        authors: new Set(),
        isUnpaid: false,
      };
      this.#slots.set(key, slot);
    }
    return slot;
  }

  #sendLatest(slot: Slot, { size, isOver }: Latest): Promise<void> {
    const send = async () => {
      const { clock } = this.#ports;
      slot.isUnpaid = this.#paidAt > clock.now() + BURST_MS;
      slot.act = slot.isUnpaid ? () => this.#sendLatest(slot, slot.latest!) : undefined;
      if (slot.isUnpaid) return;
      const { authors, latest } = slot;
      slot.authors = new Set();
      try {
        const { total, each } = await latest!.send(authors);
        const cost =
          1000 * Math.max(total / SCOPE_BYTES_PER_SECOND, each / READER_BYTES_PER_SECOND);
        this.#paidAt = Math.max(this.#paidAt, clock.now()) + cost;
      } catch (error) {
        for (const author of authors) slot.authors.add(author);
        throw error;
      }
    };
    return this.#add(send, { size, isOver });
  }

  /** Runs due actions, and schedules the next check. */
  readonly #look = (): void => {
    const { clock, log } = this.#ports;
    for (const [key, slot] of this.#slots) {
      const { act } = slot;
      if (slot.isBusy || slot.dueAt > clock.now()) continue;
      if (!act) {
        this.#slots.delete(key);
        continue;
      }
      slot.isBusy = true;
      slot.act = undefined;
      const done = () => {
        slot.isBusy = false;
        slot.dueAt = slot.isUnpaid ? this.#paidAt : clock.now() + slot.interval;
        this.#look();
      };
      try {
        const doing = act();
        if (doing) detach(doing.then(done));
        else done();
      } catch (error) {
        log.error(error);
        done();
      }
    }
    this.#wait();
  };

  #wait(): void {
    this.#stopTimer();
    const now = this.#ports.clock.now();
    let next = this.#nextFlush > now ? this.#nextFlush : Infinity;
    for (const { isBusy, dueAt } of this.#slots.values()) {
      if (!isBusy) next = Math.min(next, dueAt);
    }
    if (next < Infinity) this.#stopTimer = this.#ports.clock.after(next - now, this.#look);
    else if (!this.#end && this.#slots.size === 0) this.#forget();
  }
}

/** A failed action waiting to be retried. */
interface Pausing {
  readonly isOver: () => boolean;
  /** Ends the delay early. */
  readonly wake: () => void;
}

/** The outboxes of all scopes that have waiting actions. */
export class Outboxes {
  readonly #ports: OutboxPorts;
  readonly #places = new Map<string, Outbox>();
  /** Failed actions waiting to be retried. */
  readonly #pausing = new Set<Pausing>();
  #closed = false;

  constructor(ports: OutboxPorts) {
    this.#ports = ports;
  }

  /** Whether sending has stopped for good. */
  get closed(): boolean {
    return this.#closed;
  }

  /**
   * @param place the id of a world, room or channel.
   * @returns the outbox of that scope. Use the outbox immediately and don't keep it: an empty
   * outbox is discarded.
   */
  at(place: string): Outbox {
    let outbox = this.#places.get(place);
    if (!outbox) {
      outbox = new Outbox(this, this.#ports, () => this.#places.delete(place));
      this.#places.set(place, outbox);
    }
    return outbox;
  }

  /** Resolves once everything currently in a scope's queue has run; undefined if the queue is empty. */
  ended(place: string): Promise<void> | undefined {
    return this.#places.get(place)?.ended;
  }

  /**
   * Runs an action outside of any queue, and retries it until it succeeds or the server closes.
   * @returns a promise that never rejects.
   */
  async persist(
    act: Act,
    { isRepeated = isOfStore, isOver = () => false, onFault = () => {} }: Persistence = {},
  ): Promise<void> {
    let pause = FIRST_RETRY_DELAY_MS;
    while (!this.#closed && !isOver()) {
      try {
        await act();
        return;
      } catch (error) {
        // Expected during shutdown: the store closes before the queues have drained.
        if (this.#closed) return;
        if (pause === FIRST_RETRY_DELAY_MS) {
          this.#ports.log.error(error);
          onFault();
        }
        if (!isRepeated(error)) return;
      }
      await this.#pause(pause, isOver);
      pause = Math.min(2 * pause, MAX_RETRY_DELAY_MS);
    }
  }

  #pause(duration: number, isOver: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        stop();
        this.#pausing.delete(pausing);
        resolve();
      };
      const stop = this.#ports.clock.after(duration, wake);
      const pausing: Pausing = { isOver, wake };
      this.#pausing.add(pausing);
    });
  }

  /** Ends retries that only serve people who have left, so that these retries no longer block their queues. */
  dropWhatIsOver(): void {
    for (const { isOver, wake } of this.#pausing) if (isOver()) wake();
  }

  /** Stops all sending. */
  close(): void {
    this.#closed = true;
    for (const outbox of this.#places.values()) outbox.close();
    this.#places.clear();
  }
}
