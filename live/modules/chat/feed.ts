import type { ChatStore, Delivery } from "../../../db/contract/chat-store.js";
import { type Clock, nextTurn } from "../../../db/runtime.js";
import type { Outboxes } from "../../delivery/outbox.js";
import type { EntryHandlers, EventOf } from "../../module.js";
import type { FlushQueue } from "../../socket/outgoing.js";

/** How many events are delivered together at most, and read at a time. */
const MAX_BATCH = 100;

/** How many events of a channel may wait in memory. Further ones are read when it is their turn. */
const MAX_WAITING = 500;

/** A part of a delivery. It reads before it sends, so it may be repeated. */
type Step = () => Promise<unknown>;

/** A channel with waiting events. */
interface Stream {
  readonly world: string;
  readonly channel: string;
  /** All events up to this id were delivered. */
  cursor: number;
  /** The notices of all events up to this id were sent. */
  noticed: number;
  /** The id of the last event that came. */
  last: number;
  /** The events after the cursor, but for those that do not fit. */
  readonly waiting: Delivery[];
  /** Whether later ones than these have to be read. */
  isBehind: boolean;
  /** Whether a flush waits in the outbox. */
  isQueued: boolean;
  /** All people have left the world, so nothing is delivered any more. */
  isOver: boolean;
}

/** The ports of a feed to the other floors. */
export interface FeedPorts {
  readonly clock: Clock;
  readonly store: { readonly chat: ChatStore };
  /** The last entry of a world that this process has got. */
  readonly reached: (world: string) => number;
  readonly outboxes: Outboxes;
  readonly flushQueue: FlushQueue;
}

/** The ports of a feed to the senders of its events. */
export interface FeedParts {
  /** Prepares to deliver events of a channel. The steps run in this order. */
  readonly prepare: (world: string, deliveries: readonly Delivery[]) => Promise<Step[]>;
  /** How many connections a delivery goes to. */
  readonly sizeOf: (channel: string) => number;
}

/**
 * The messages in the outboxes of channels. They come from the log, once and in order, and all
 * that wait are flushed together. A channel waits for no other channel.
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

  /** The handlers of entries. */
  readonly handlers: EntryHandlers = { "chat.event": (event) => this.#receive(event) };

  constructor(ports: FeedPorts, parts: FeedParts) {
    this.#ports = ports;
    this.#parts = parts;
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
    return this.#streams.get(channel)?.cursor ?? this.#ports.reached(world);
  }

  /** The id up to which notices of all events of a channel were sent. */
  noticedOf(world: string, channel: string): number {
    return this.#streams.get(channel)?.noticed ?? this.#ports.reached(world);
  }

  /** The notices of an event begin to be sent. */
  notices(channel: string, event: number): void {
    const stream = this.#streams.get(channel);
    if (stream) stream.noticed = event;
  }

  #receive({ world, channel, delivery, seq }: EventOf<"chat.event">): void {
    this.#note(world, seq);
    const stream = this.#streamOf(world, channel, seq - 1);
    stream.last = seq;
    stream.isBehind ||= stream.waiting.length >= MAX_WAITING;
    if (!stream.isBehind) stream.waiting.push(delivery);
    if (stream.isQueued) return;
    stream.isQueued = true;
    this.#ports.outboxes.at(channel).add(() => this.#flush(stream), {
      size: () => this.#parts.sizeOf(channel),
      isOver: () => stream.isOver,
    });
  }

  /** @param delivered the id up to which everything was delivered, if the channel has no stream. */
  #streamOf(world: string, channel: string, delivered: number): Stream {
    let stream = this.#streams.get(channel);
    if (!stream) {
      stream = {
        world,
        channel,
        cursor: delivered,
        noticed: delivered,
        last: delivered,
        waiting: [],
        isBehind: false,
        isQueued: false,
        isOver: false,
      };
      this.#streams.set(channel, stream);
    }
    return stream;
  }

  /** Delivers the events that came. Later ones get a flush of their own, behind what else waits. */
  async #flush(stream: Stream): Promise<void> {
    const { outboxes, flushQueue } = this.#ports;
    const { last, waiting } = stream;
    const isOver = () => stream.isOver;
    stream.isQueued = false;
    while (stream.cursor < last && !stream.isOver) {
      let batch: readonly Delivery[] = [];
      let steps: Step[] = [];
      const prepare = async () => {
        batch = waiting.length > 0 ? waiting.slice(0, MAX_BATCH) : await this.#read(stream, last);
        if (batch.length > 0) steps = await this.#parts.prepare(stream.world, batch);
      };
      await outboxes.persist(prepare, { isOver });
      // Events that are missing no longer exist.
      stream.cursor = batch.at(-1)?.event.id ?? last;
      while (waiting[0] && waiting[0].event.id <= stream.cursor) waiting.shift();
      if (stream.cursor === stream.last) stream.isBehind = false;
      for (const step of steps) await outboxes.persist(step, { isOver });
      stream.noticed = stream.cursor;
      // The next batch in the same turn could make a subscriber a slow reader.
      if (batch.length > 1) await flushQueue.drained();
    }
    if (!stream.isQueued && this.#streams.get(stream.channel) === stream) {
      this.#streams.delete(stream.channel);
    }
  }

  /** Reads the events that did not fit into memory. */
  async #read({ world, channel, cursor }: Stream, last: number): Promise<readonly Delivery[]> {
    const { clock, store } = this.#ports;
    // Reads of one turn see one state, which may be older than the event.
    await nextTurn(clock);
    const found = await store.chat.deliveries(world, channel, cursor, MAX_BATCH);
    return found.filter(({ event }) => event.id <= last);
  }
}
