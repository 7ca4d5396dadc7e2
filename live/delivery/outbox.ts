import type { FastifyBaseLogger } from "fastify";
import { StoreError } from "../../db/contract/store.js";
import { detach, type Clock, nextTurn, sleep } from "../../db/runtime.js";
import type { FlushQueue } from "../socket/outgoing.js";

/** The pause before something that failed is repeated, in milliseconds. It doubles each time. */
const FIRST_RETRY_DELAY_MS = 50;
const MAX_RETRY_DELAY_MS = 2000;

/**
 * After how many milliseconds pushes wait for a change of rights. Together with the time
 * for which changes of a world are collected, that is a second.
 */
const LATE_AFTER_MS = 700;

/** How many connections make a crowd. To fewer, everything is sent at once. */
const CROWD_CONNECTIONS = 200;

/** The time from one flush to a crowd to the next, in milliseconds. */
const MIN_FLUSH_INTERVAL_MS = 8;
const MAX_FLUSH_INTERVAL_MS = 100;

/** What changes often is sent at most once in this time, in milliseconds. */
const THROTTLE_INTERVAL_MS = 250;

/** How many bytes the people of one place get of it in a second, together. */
const SCOPE_BYTES_PER_SECOND = 50_000_000;

/**
 * How many bytes each of them gets of it in a second: a fifth of a line with 10 Mbit/s, which
 * messages need as well.
 */
const READER_BYTES_PER_SECOND = 250_000;

/** How much is sent at once, in milliseconds of these rates. */
const BURST_MS = 50;

/** Whether so many connections are a crowd, which gets what waits together. */
export const isCrowd = (size: number): boolean => size >= CROWD_CONNECTIONS;

/** The authors of the changes in a push: the ids of users and connections. */
export type Authors = ReadonlySet<string>;

/** How many bytes were sent. */
export interface Sent {
  /** To all together. */
  readonly total: number;
  /** To one of them at most. */
  readonly each: number;
}

export const nothingSent: Sent = { total: 0, each: 0 };

/** Reads the store, and then sends. */
type Act = () => Promise<unknown>;

/** When an act is repeated, and until when it is of use. */
interface Persistence {
  /** After which errors it is repeated: by default, those of the store. */
  readonly isRepeated?: (error: unknown) => boolean;
  /** Whether it is no longer of use. */
  readonly isOver?: () => boolean;
  /** Is called after the first failure. */
  readonly onFault?: () => void;
}

/** What stands in the queue of an outbox. */
interface Queued extends Persistence {
  /** How many connections it goes to. A crowd gets it with the next flush. */
  readonly size?: () => number;
}

/** The latest value of something that changes often. */
interface Latest extends Queued {
  readonly authors: Iterable<string>;
  /** Sends it as it is then. */
  readonly send: (authors: Authors) => Promise<Sent>;
}

/** How often something is done. */
export interface Interval {
  /** The least time between two times, in milliseconds; 250 by default. */
  readonly interval?: number;
  /** Whether the first change waits as well, so that those after it go with it. */
  readonly collects?: boolean;
}

/** What happens to one key. It exists while that is due, or was done a moment ago. */
interface Slot {
  /** What is done when it is due. */
  act: (() => Promise<unknown> | void) | undefined;
  dueAt: number;
  interval: number;
  isBusy: boolean;
  latest?: Latest;
  authors: Set<string>;
  /** Whether it waits because the rates are used up. */
  isUnpaid: boolean;
}

/** What outboxes need. */
export interface OutboxPorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  /** Writes to the sockets. A flush ends when nothing is due there. */
  readonly flushQueue: Pick<FlushQueue, "waiting" | "drained">;
}

/** A store that failed may answer the next time. Any other error is a fault of Foyer. */
const isOfStore = (error: unknown): boolean => error instanceof StoreError;

/**
 * All that waits to be sent to the people of one place: a world, a room or a channel. What stands
 * in its queue is sent in order; while the store fails, it is repeated, and the rest waits. Of
 * what changes often, only the latest value per key waits, until its interval is over. A crowd
 * gets what is in the queue together, as a write to a socket costs the same whatever its size: at
 * once if the place is quiet, and otherwise when the sockets have taken the last flush, less
 * often the longer the place is busy.
 */
class Outbox {
  readonly #ports: OutboxPorts;
  readonly #all: Outboxes;
  readonly #forget: () => void;
  /** The end of the queue, while anything is in it. */
  #end: Promise<void> | undefined;
  /** How many acts have been queued, and how many of them the last flush covers. */
  #queued = 0;
  #flushed = 0;
  /** The time between flushes, and when the next one may begin. */
  #window = MIN_FLUSH_INTERVAL_MS;
  #nextFlush = -Infinity;
  /** When the bytes that were sent fit into the rates. */
  #paidAt = -Infinity;
  readonly #slots = new Map<string, Slot>();
  #stopTimer = () => {};

  constructor(all: Outboxes, ports: OutboxPorts, forget: () => void) {
    this.#all = all;
    this.#ports = ports;
    this.#forget = forget;
  }

  /** Resolves after all that is in the queue now; undefined if nothing is. */
  get ended(): Promise<void> | undefined {
    return this.#end;
  }

  /** Does something after all that is in the queue. */
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
   * Takes away rights in its order, and repeats that whatever fails.
   * @param onLate is called after its first failure, or if it takes long. From then on, the
   *   users it concerns may get no push until it has {@link ended}.
   * @param isOver whether none of these users is there any more.
   */
  enforce(act: Act, onLate: () => void, isOver: () => boolean): void {
    let isLate = false;
    const late = () => {
      if (!isLate) onLate();
      isLate = true;
    };
    const stop = this.#ports.clock.after(LATE_AFTER_MS, late);
    const run = async () => {
      // Reads of this turn may see a state that is older than the entry that takes rights away.
      await nextTurn(this.#ports.clock);
      await this.#all.persist(act, { isRepeated: () => true, isOver, onFault: late });
      stop();
      isLate = true;
    };
    detach(this.#append(run));
  }

  /** Does something when it is due, whatever is in the queue. It replaces what waits for a key. */
  later(key: string, act: () => void, options: Interval = {}): void {
    if (this.#all.closed) return;
    this.#slot(key, options).act = act;
    this.#look();
  }

  /** Sends the latest value of a key in the queue, as often as its interval and the rates allow. */
  latest(key: string, latest: Latest, options: Interval = {}): void {
    if (this.#all.closed) return;
    const slot = this.#slot(key, options);
    for (const author of latest.authors) slot.authors.add(author);
    slot.latest = latest;
    slot.act = () => this.#sendLatest(slot, latest);
    this.#look();
  }

  /** Ends the timer. */
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

  /** Waits for the next flush, which covers all that is in the queue when it begins. */
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

  /** Does what is due, and looks again when the next is. */
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

/** Something that failed, until it is repeated. */
interface Pausing {
  readonly isOver: () => boolean;
  /** Ends the pause. */
  readonly wake: () => void;
}

/** The outbox of each place where anything waits. */
export class Outboxes {
  readonly #ports: OutboxPorts;
  readonly #places = new Map<string, Outbox>();
  /** What waits before it is repeated. */
  readonly #pausing = new Set<Pausing>();
  #closed = false;

  constructor(ports: OutboxPorts) {
    this.#ports = ports;
  }

  /** Whether nothing more is sent. */
  get closed(): boolean {
    return this.#closed;
  }

  /** @param place the id of a world, a room or a channel. To be used at once, and not kept. */
  at(place: string): Outbox {
    let outbox = this.#places.get(place);
    if (!outbox) {
      outbox = new Outbox(this, this.#ports, () => this.#places.delete(place));
      this.#places.set(place, outbox);
    }
    return outbox;
  }

  /** Resolves after all that is in the queue of a place now; undefined if nothing is. */
  ended(place: string): Promise<void> | undefined {
    return this.#places.get(place)?.ended;
  }

  /**
   * Does something, in no queue, and repeats it until it succeeds, or the server closes.
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
        // The store closes before everything that waited has run.
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

  /** People have left: what was repeated for them alone no longer keeps others in its queue. */
  dropWhatIsOver(): void {
    for (const { isOver, wake } of this.#pausing) if (isOver()) wake();
  }

  /** Sends nothing more. */
  close(): void {
    this.#closed = true;
    for (const outbox of this.#places.values()) outbox.close();
    this.#places.clear();
  }
}
