import { setImmediate } from "node:timers/promises";
import type { Delivery } from "../../db/chat.js";
import type { AnyEvent } from "../../db/events.js";
import type { Live } from "../live.js";

/** How often the store is asked whether anything was missed, in milliseconds. */
const INTERVAL = 500;

/** How many missed events are read at a time. */
const PAGE = 100;

/** How often the store has to say that its last event is an earlier one until it is believed. */
const SURE = 3;

/** How many events are delivered together at most. */
const MAX_BATCH = 100;

/** How many events may wait in memory for those before them. Beyond it they are read again. */
const MAX_WAITING = 500;

/** Something that runs between two events of a channel. */
type Task = () => Promise<unknown>;

/** A channel in which something happens. */
interface Stream {
  readonly world: string;
  readonly channel: string;
  /** The id of the event that was delivered last; there is none up to it that was not. */
  cursor: number;
  /** Those who have not read it are told of each event up to this id. */
  noticed: number;
  /** The store has events up to this id, and who has them has to read them. */
  target: number;
  /** The store has events up to this id, but they may be on their way. */
  expected: number;
  readonly waiting: (Delivery | Task)[];
  working: boolean;
  /** The store went back to before its last delivery, so it delivers nothing more. */
  isOver: boolean;
  /** Those who wait until something was delivered. */
  watchers: { id: number; resolve: () => void }[];
}

/** What a feed needs of those who send what it delivers. */
export interface FeedParts {
  /**
   * Prepares to deliver events of a channel. If that fails, it is tried again. What it
   * gives is done in this order, and the events count as delivered.
   */
  readonly prepare: (
    world: string,
    deliveries: readonly Delivery[],
  ) => Promise<Task[]>;
  /** How many connections a delivery goes to. */
  readonly sizeOf: (channel: string) => number;
  /** Some events that people know do not exist any more. */
  readonly onLost: () => void;
}

/**
 * The events of all channels, each once and in the order of their ids. Processes tell
 * each other of events, but some may come late, twice, in another order, or never. So
 * each process remembers which event of a channel it delivered last, and reads from
 * the store what it missed.
 */
export class Feed {
  readonly #live: Live;
  readonly #parts: FeedParts;
  /** Of channels without a stream, all events up to this id are delivered. */
  #baseline = 0;
  #streams = new Map<string, Stream>();
  #looking = false;
  #closed = false;
  #unsubscribe = () => {};
  #timer: NodeJS.Timeout | undefined;

  constructor(live: Live, parts: FeedParts) {
    this.#live = live;
    this.#parts = parts;
  }

  /** Begins with what happens from now on. */
  async open(): Promise<void> {
    const { events, store } = this.#live;
    this.#baseline = await store.chat.lastId();
    this.#unsubscribe = events.subscribe((event) => this.#receive(event));
    this.#timer = setInterval(() => this.#go(this.look()), INTERVAL).unref();
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

  /** The id up to which notices of all events of a channel were sent. */
  noticedOf(channel: string): number {
    return this.#streams.get(channel)?.noticed ?? this.#baseline;
  }

  /** The notices of an event begin to be sent. */
  notices(channel: string, event: number): void {
    const stream = this.#streams.get(channel);
    if (stream) stream.noticed = event;
  }

  /**
   * Resolves when an event and its notices were sent, or when that has to be tried again.
   * @returns undefined if it is done.
   */
  sent(channel: string, id: number): Promise<void> | undefined {
    const stream = this.#streams.get(channel);
    if (!stream?.working || stream.noticed > id) return undefined;
    return new Promise((resolve) => stream.watchers.push({ id, resolve }));
  }

  /** Runs something between two events of a channel. */
  run<T>(world: string, channel: string, act: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const stream = this.#streamOf(world, channel);
      stream.waiting.push(() => act().then(resolve, reject));
      this.#go(this.#work(stream));
    });
  }

  #receive(event: AnyEvent): void {
    if (event.type === "events.missed") {
      // What is missing at the second look is read.
      this.#go(this.look().then(() => this.look()));
    }
    if (event.type !== "chat.event") return;
    const { world, channel, delivery } = event;
    const stream = this.#streamOf(world, channel);
    if (stream.waiting.length < MAX_WAITING) stream.waiting.push(delivery);
    else stream.target = Math.max(stream.target, delivery.event.id);
    this.#go(this.#work(stream));
  }

  #streamOf(world: string, channel: string): Stream {
    let stream = this.#streams.get(channel);
    if (!stream) {
      stream = {
        world,
        channel,
        cursor: this.#baseline,
        noticed: this.#baseline,
        target: 0,
        expected: 0,
        waiting: [],
        working: false,
        isOver: false,
        watchers: [],
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
    const last = await this.#last();
    if (last === undefined) return this.#startOver();
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
      if (waiting.length > 0 || target > cursor) {
        this.#go(this.#work(stream));
      } else if (cursor >= expected && cursor <= this.#baseline) {
        this.#streams.delete(stream.channel);
      }
    }
  }

  /** The last id of the store; undefined if it is before the last delivery. */
  async #last(): Promise<number | undefined> {
    for (let turn = 0; turn < SURE; turn++) {
      const cursors = [...this.#streams.values()].map(({ cursor }) => cursor);
      const seen = Math.max(this.#baseline, ...cursors);
      // All reads of a turn see one state. In this turn, it may be older than an event.
      await setImmediate();
      const last = await this.#live.store.chat.lastId();
      if (last >= seen) return last;
    }
    return undefined;
  }

  /**
   * The store is another one than before: a standby that lagged, or a copy that was
   * restored. Any of the delivered events may be gone.
   */
  async #startOver(): Promise<void> {
    const last = await this.#live.store.chat.lastId();
    const dropped = [...this.#streams.values()];
    this.#streams = new Map();
    this.#baseline = last;
    for (const stream of dropped) {
      stream.isOver = true;
      this.#go(this.#work(stream));
    }
    this.#live.log.warn(
      "the database has lost chat events; everybody here logs in again",
    );
    this.#parts.onLost();
  }

  /** Delivers what waits. After a failure, it goes on the next time that something is looked for. */
  async #work(stream: Stream): Promise<void> {
    if (stream.working || this.#closed) return;
    stream.working = true;
    try {
      for (;;) {
        const [next] = stream.waiting;
        if (typeof next === "function") {
          // It may be about an event for which there was no space.
          if (stream.target > stream.cursor && !stream.isOver) {
            await this.#catchUp(stream, stream.target);
          }
          stream.waiting.shift();
          await next();
        } else if (stream.isOver) {
          const tasks = stream.waiting.filter((it) => typeof it === "function");
          stream.waiting.splice(0, Infinity, ...tasks);
          if (tasks.length === 0) break;
        } else if (next) {
          const { channel } = stream;
          const size = this.#parts.sizeOf(channel);
          await this.#live.passes.turn(channel, size);
          await this.#take(stream, nextBatch(stream));
        } else if (stream.target > stream.cursor) {
          await this.#catchUp(stream, stream.target);
        } else break;
      }
    } catch (error) {
      this.#report(error);
    }
    stream.working = false;
    release(stream, Infinity);
  }

  async #take(stream: Stream, batch: readonly Delivery[]): Promise<void> {
    try {
      let next: Delivery[] = [];
      for (const delivery of batch) {
        const last = next.at(-1)?.event.id ?? stream.cursor;
        if (delivery.previous > last) {
          await this.#send(stream, next);
          next = [];
          await this.#catchUp(stream, delivery.previous);
        }
        const { id } = delivery.event;
        if (id > (next.at(-1)?.event.id ?? stream.cursor)) next.push(delivery);
      }
      await this.#send(stream, next);
    } catch (error) {
      const ids = batch.map(({ event }) => event.id);
      stream.target = Math.max(stream.target, ...ids);
      throw error;
    }
  }

  /** Delivers from the store what is missing up to an event. */
  async #catchUp(stream: Stream, end: number): Promise<void> {
    const { world, channel } = stream;
    const live = this.#live;
    // Reads of one turn see one state. That of this turn may be older than the event.
    await setImmediate();
    while (stream.cursor < end && !stream.isOver && !this.#closed) {
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
      await this.#send(stream, missed);
      if (missed.length < PAGE) break;
    }
    // What is still missing does not exist any more.
    stream.cursor = Math.max(stream.cursor, end);
    stream.noticed = stream.cursor;
  }

  async #send(stream: Stream, batch: readonly Delivery[]): Promise<void> {
    const last = batch.at(-1);
    if (!last || stream.isOver) return;
    const tasks = await this.#parts.prepare(stream.world, batch);
    stream.cursor = last.event.id;
    const { effects } = this.#live;
    // Each task reads before it sends, so it may be repeated.
    const isOver = () => this.#closed || stream.isOver;
    for (const task of tasks) await effects.persist(task, { isOver });
    stream.noticed = stream.cursor;
    release(stream, stream.noticed);
    // The next batch in the same turn could make somebody a slow reader.
    if (batch.length > 1) await this.#live.pump.drained();
  }

  /** Nothing waits for it. */
  #go(work: Promise<unknown>): void {
    work.catch((error) => this.#report(error));
  }

  #report(error: unknown): void {
    if (!this.#closed) this.#live.log.error(error);
  }
}

/** Goes on with those who wait for events up to this one. */
function release(stream: Stream, id: number): void {
  if (stream.watchers.length === 0) return;
  const done = stream.watchers.filter((watcher) => watcher.id <= id);
  stream.watchers = stream.watchers.filter((watcher) => watcher.id > id);
  for (const { resolve } of done) resolve();
}

/** Takes the deliveries that come next. */
function nextBatch({ waiting }: Stream): Delivery[] {
  const task = waiting.findIndex((next) => typeof next === "function");
  const count = Math.min(task < 0 ? waiting.length : task, MAX_BATCH);
  return waiting.splice(0, count) as Delivery[];
}
