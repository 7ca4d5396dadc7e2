import type { Lines } from "../../delivery/lines.js";
import type { Passes } from "../../delivery/passes.js";
import type { Pump } from "../../socket/socket-writer.js";
import type { EntryHandlers, EventOf } from "../../module.js";
import type { FastifyBaseLogger } from "fastify";
import type { ChatStore, Delivery } from "../../../db/contract/chat.js";
import { type Clock, nextTurn } from "../../../db/log/clock.js";

/** How many events are read at a time. */
const PAGE = 100;

/** How many events are delivered together at most. */
const MAX_BATCH = 100;

/** How many events of a channel may wait in memory. Further ones are read when it is their turn. */
const MAX_WAITING = 500;

/** Something that runs between two events of a channel. */
type Task = () => Promise<unknown>;

/** A channel with waiting events. */
interface Stream {
  readonly world: string;
  readonly channel: string;
  /** All events up to this id were delivered. */
  cursor: number;
  /** The notices of all events up to this id were sent. */
  noticed: number;
  /** The id of the last event for which there was no space in memory; 0 for none. */
  skipped: number;
  readonly waiting: (Delivery | Task)[];
  working: boolean;
  /** All people have left the world, so nothing is delivered any more. */
  isOver: boolean;
  /** The callers that wait for a delivery. */
  watchers: { id: number; resolve: () => void }[];
}

/** The ports of a feed to the other floors. */
export interface FeedPorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  readonly store: { readonly chat: ChatStore };
  /** The last entry of a world that this process has got. */
  readonly reached: (world: string) => number;
  readonly lines: Lines;
  readonly passes: Passes;
  readonly pump: Pump;
}

/** The ports of a feed to the senders of its events. */
export interface FeedParts {
  /**
   * Prepares to deliver events of a channel. If that fails, it is tried again. The returned
   * functions run in this order, and the events count as delivered.
   */
  readonly prepare: (
    world: string,
    deliveries: readonly Delivery[],
  ) => Promise<Task[]>;
  /** How many connections a delivery goes to. */
  readonly sizeOf: (channel: string) => number;
}

/**
 * Delivers the events of each channel one after the other. They come from the log, once
 * and in order. A channel waits for no other channel, and for as long as the store fails.
 */
export class Feed {
  readonly #ports: FeedPorts;
  readonly #parts: FeedParts;
  /** Of a channel without a stream, everything that came from the log was delivered. */
  readonly #streams = new Map<string, Stream>();
  /** The last event of each followed world. */
  readonly #last = new Map<string, number>();
  /** Resolves when the last event of a world is known. */
  readonly #begun = new Map<string, Promise<void>>();
  #closed = false;

  /** The handlers of entries. */
  readonly handlers: EntryHandlers = {
    "chat.event": (event) => this.#receive(event),
  };

  constructor(ports: FeedPorts, parts: FeedParts) {
    this.#ports = ports;
    this.#parts = parts;
  }

  close(): void {
    this.#closed = true;
  }

  /** Begins with a world that is followed now. */
  async begin(world: string): Promise<void> {
    let begun = this.#begun.get(world);
    if (!begun) {
      const isCurrent = () => this.#begun.get(world) === begun;
      begun = this.#ports.store.chat.lastId(world).then((last) => {
        // A world that was forgotten meanwhile may be followed again from a later event.
        if (isCurrent()) this.#note(world, last);
      });
      this.#begun.set(world, begun);
      begun.catch(() => {
        if (isCurrent()) this.#begun.delete(world);
      });
    }
    await begun;
  }

  /** A world has no people, or has lost its history: no event that waits is delivered. */
  forget(world: string): void {
    this.#begun.delete(world);
    this.#last.delete(world);
    for (const [channel, stream] of this.#streams) {
      if (stream.world !== world) continue;
      stream.isOver = true;
      this.#streams.delete(channel);
    }
  }

  /** The id of the last event of a world that came here; 0 for none. Later ones will be delivered. */
  lastOf(world: string): number {
    return this.#last.get(world) ?? 0;
  }

  #note(world: string, event: number): void {
    this.#last.set(world, Math.max(event, this.lastOf(world)));
  }

  /** The id up to which all events of a channel were delivered. */
  cursorOf(world: string, channel: string): number {
    const stream = this.#streams.get(channel);
    return stream?.cursor ?? this.#ports.reached(world);
  }

  /** The id up to which notices of all events of a channel were sent. */
  noticedOf(world: string, channel: string): number {
    const stream = this.#streams.get(channel);
    return stream?.noticed ?? this.#ports.reached(world);
  }

  /** The notices of an event begin to be sent. */
  notices(channel: string, event: number): void {
    const stream = this.#streams.get(channel);
    if (stream) stream.noticed = event;
  }

  /**
   * Resolves when an event and its notices were sent.
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
      this.#start(stream);
    });
  }

  #receive(event: EventOf<"chat.event">): void {
    const { world, channel, delivery, seq } = event;
    this.#note(world, seq);
    const stream = this.#streamOf(world, channel, seq - 1);
    if (stream.skipped > 0 || stream.waiting.length >= MAX_WAITING) {
      stream.skipped = seq;
    } else stream.waiting.push(delivery);
    this.#start(stream);
  }

  /** @param delivered the id up to which everything was delivered, if the channel has no stream. */
  #streamOf(
    world: string,
    channel: string,
    delivered = this.#ports.reached(world),
  ): Stream {
    let stream = this.#streams.get(channel);
    if (!stream) {
      stream = {
        world,
        channel,
        cursor: delivered,
        noticed: delivered,
        skipped: 0,
        waiting: [],
        working: false,
        isOver: false,
        watchers: [],
      };
      this.#streams.set(channel, stream);
    }
    return stream;
  }

  #start(stream: Stream): void {
    if (stream.working || this.#closed) return;
    stream.working = true;
    this.#work(stream).catch((error: unknown) => this.#ports.log.error(error));
  }

  /** Delivers the waiting events, and then forgets the channel. */
  async #work(stream: Stream): Promise<void> {
    const { channel, waiting } = stream;
    while (!this.#closed) {
      const [next] = waiting;
      if (typeof next === "function") {
        // It may be about an event for which there was no space.
        await this.#catchUp(stream);
        waiting.shift();
        await next();
      } else if (stream.isOver) {
        const tasks = waiting.filter((it) => typeof it === "function");
        waiting.splice(0, Infinity, ...tasks);
        stream.skipped = 0;
        if (tasks.length === 0) break;
      } else if (next) {
        await this.#ports.passes.turn(channel, this.#parts.sizeOf(channel));
        await this.#send(stream, nextBatch(stream));
      } else if (stream.skipped > 0) await this.#catchUp(stream);
      else break;
    }
    stream.working = false;
    if (this.#streams.get(channel) === stream) this.#streams.delete(channel);
    release(stream, Infinity);
  }

  /** Delivers the events for which there was no space in memory. */
  async #catchUp(stream: Stream): Promise<void> {
    const { world, channel } = stream;
    const ports = this.#ports;
    while (stream.skipped > 0 && !stream.isOver && !this.#closed) {
      const end = stream.skipped;
      let found: Delivery[] = [];
      await this.#persist(stream, async () => {
        // Reads of one turn see one state, which may be older than the event.
        await nextTurn(ports.clock);
        const { cursor } = stream;
        found = await ports.store.chat.deliveries(world, channel, cursor, PAGE);
      });
      await this.#send(
        stream,
        found.filter(({ event: { id } }) => id <= end),
      );
      if (found.length === PAGE && stream.cursor < end) continue;
      // Events that are still missing no longer exist.
      stream.cursor = Math.max(stream.cursor, end);
      stream.noticed = stream.cursor;
      if (stream.skipped === end) stream.skipped = 0;
    }
  }

  async #send(stream: Stream, batch: readonly Delivery[]): Promise<void> {
    const last = batch.at(-1);
    if (!last || stream.isOver) return;
    let tasks: Task[] = [];
    await this.#persist(stream, async () => {
      tasks = await this.#parts.prepare(stream.world, batch);
    });
    stream.cursor = last.event.id;
    // Each task reads before it sends, so it may be repeated.
    for (const task of tasks) await this.#persist(stream, task);
    stream.noticed = stream.cursor;
    release(stream, stream.noticed);
    // The next batch in the same turn could make a subscriber a slow reader.
    if (batch.length > 1) await this.#ports.pump.drained();
  }

  #persist(stream: Stream, act: Task): Promise<void> {
    const isOver = () => this.#closed || stream.isOver;
    return this.#ports.lines.persist(act, { isOver });
  }
}

/** Resolves the callers that wait for events up to this one. */
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
