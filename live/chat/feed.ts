import { setImmediate } from "node:timers/promises";
import type { Delivery } from "../../db/chat.js";
import type { AnyEvent } from "../../db/events.js";
import type { Live } from "../live.js";

/** How often the store is asked whether anything was missed, in milliseconds. */
const INTERVAL = 500;

/** How many missed events are read at a time. */
const PAGE = 100;

/** How many events may wait in memory for those before them. Beyond it they are read again. */
const MAX_WAITING = 500;

/** Something that runs between two events of a channel. */
type Task = () => Promise<void>;

/** A channel in which something happens. */
interface Stream {
  readonly world: string;
  readonly channel: string;
  /** The id of the event that was delivered last; there is none up to it that was not. */
  cursor: number;
  /** The store has events up to this id, and who has them has to read them. */
  target: number;
  /** The store has events up to this id, but they may be on their way. */
  expected: number;
  readonly waiting: (Delivery | Task)[];
  working: boolean;
}

/**
 * Delivers an event in two steps. The first one may fail, and is then tried again. In
 * the second one, the event counts as delivered.
 */
export type Deliver = (world: string, delivery: Delivery) => Promise<Task>;

/**
 * The events of all channels, each once and in the order of their ids. Processes tell
 * each other of events, but some may come late, twice, in another order, or never. So
 * each process remembers which event of a channel it delivered last, and reads from
 * the store what it missed.
 */
export class Feed {
  readonly #live: Live;
  readonly #deliver: Deliver;
  /** Of channels without a stream, all events up to this id are delivered. */
  #baseline = 0;
  readonly #streams = new Map<string, Stream>();
  #looking = false;
  #closed = false;
  #unsubscribe = () => {};
  #timer: NodeJS.Timeout | undefined;

  constructor(live: Live, deliver: Deliver) {
    this.#live = live;
    this.#deliver = deliver;
  }

  /** Begins with what happens from now on. */
  async open(): Promise<void> {
    const { events, store } = this.#live;
    this.#baseline = await store.chat.lastId();
    this.#unsubscribe = events.subscribe((event) => this.#receive(event));
    this.#timer = setInterval(() => void this.look(), INTERVAL).unref();
  }

  close(): void {
    this.#closed = true;
    this.#unsubscribe();
    clearInterval(this.#timer);
  }

  /** The id up to which all events of a channel are delivered. */
  cursorOf(channel: string): number {
    return this.#streams.get(channel)?.cursor ?? this.#baseline;
  }

  /** Runs something between two events of a channel. */
  run<T>(world: string, channel: string, act: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const stream = this.#streamOf(world, channel);
      stream.waiting.push(() => act().then(resolve, reject));
      void this.#work(stream);
    });
  }

  #receive(event: AnyEvent): void {
    if (event.type !== "chat.event") return;
    const { world, channel, delivery } = event;
    const stream = this.#streamOf(world, channel);
    if (stream.waiting.length < MAX_WAITING) stream.waiting.push(delivery);
    else stream.target = Math.max(stream.target, delivery.event.id);
    void this.#work(stream);
  }

  #streamOf(world: string, channel: string): Stream {
    let stream = this.#streams.get(channel);
    if (!stream) {
      stream = {
        world,
        channel,
        cursor: this.#baseline,
        target: 0,
        expected: 0,
        waiting: [],
        working: false,
      };
      this.#streams.set(channel, stream);
    }
    return stream;
  }

  /**
   * Looks whether anything was missed. What the store has and this process does not
   * is read if it is still missing the next time.
   */
  async look(): Promise<void> {
    if (this.#looking || this.#closed) return;
    this.#looking = true;
    try {
      await this.#compare();
    } catch (error) {
      // The next time, the same is looked for again.
      this.#report(error);
    }
    this.#looking = false;
  }

  async #compare(): Promise<void> {
    const { chat } = this.#live.store;
    for (const stream of this.#streams.values()) {
      stream.target = Math.max(stream.target, stream.expected);
    }
    const last = await chat.lastId();
    if (last > this.#baseline) {
      for (const active of await chat.activeSince(this.#baseline)) {
        const stream = this.#streamOf(active.world, active.channel);
        stream.expected = Math.max(stream.expected, active.last);
      }
      // Each channel with later events has a stream now, which knows where it was.
      this.#baseline = last;
    }
    for (const stream of this.#streams.values()) {
      const { cursor, expected, target, waiting, working } = stream;
      if (working) continue;
      if (waiting.length > 0 || target > cursor) void this.#work(stream);
      else if (cursor >= expected && cursor <= this.#baseline) {
        this.#streams.delete(stream.channel);
      }
    }
  }

  /** Delivers what waits. After a failure, it goes on the next time that something is looked for. */
  async #work(stream: Stream): Promise<void> {
    if (stream.working || this.#closed) return;
    stream.working = true;
    try {
      for (;;) {
        const next = stream.waiting.shift();
        if (typeof next === "function") await next();
        else if (next) await this.#take(stream, next);
        else if (stream.target > stream.cursor) {
          await this.#catchUp(stream, stream.target);
        } else break;
      }
    } catch (error) {
      this.#report(error);
    }
    stream.working = false;
  }

  async #take(stream: Stream, delivery: Delivery): Promise<void> {
    const { id } = delivery.event;
    try {
      if (delivery.previous > stream.cursor) {
        await this.#catchUp(stream, delivery.previous);
      }
      if (id > stream.cursor) await this.#send(stream, delivery);
    } catch (error) {
      stream.target = Math.max(stream.target, id);
      throw error;
    }
  }

  /** Delivers from the store what is missing up to an event. */
  async #catchUp(stream: Stream, end: number): Promise<void> {
    const { world, channel } = stream;
    const live = this.#live;
    // Reads of one turn see one state. That of this turn may be older than the event.
    await setImmediate();
    while (stream.cursor < end && !this.#closed) {
      if (live.hub.in(world).size === 0) break;
      const { cursor } = stream;
      const found = await live.store.chat.deliveries(
        world,
        channel,
        cursor,
        PAGE,
      );
      const missed = found.filter(({ event: { id } }) => id <= end);
      live.metrics?.missed(missed.length);
      for (const delivery of missed) await this.#send(stream, delivery);
      if (missed.length < PAGE) break;
    }
    // What is still missing does not exist any more.
    stream.cursor = Math.max(stream.cursor, end);
  }

  async #send(stream: Stream, delivery: Delivery): Promise<void> {
    const send = await this.#deliver(stream.world, delivery);
    stream.cursor = delivery.event.id;
    try {
      await send();
    } catch (error) {
      this.#report(error);
    }
  }

  #report(error: unknown): void {
    if (!this.#closed) this.#live.log.error(error);
  }
}
