import type { ChatStore, ChatDelivery } from "../../../db/contract/chat-store.js";
import { type Clock, nextTurn } from "../../../db/runtime.js";
import type { Outboxes } from "../../delivery/outbox.js";
import type { EntryHandlers, EventOf } from "../../module.js";
import type { FlushQueue } from "../../socket/outgoing.js";

/** Maximum number of events that are delivered together, or read at a time. */
const MAX_BATCH = 100;

/**
 * Maximum number of a channel's events kept in memory. If there are more events, the rest is read
 * from the store when it is due.
 */
const MAX_WAITING = 500;

/** A part of a delivery. It reads before it sends, so it is safe to retry. */
type Step = () => Promise<unknown>;

/** A channel with undelivered events. */
interface Stream {
  readonly world: string;
  readonly channel: string;
  /** All events up to this id have been delivered. */
  cursor: number;
  /** The notices of all events up to this id have been sent. */
  noticed: number;
  /** The id of the last event received. */
  last: number;
  /** The events after the cursor, except those beyond `MAX_WAITING`. */
  readonly waiting: ChatDelivery[];
  /** Whether the events after those in `waiting` have to be read from the store. */
  isBehind: boolean;
  /** Whether a flush is queued in the outbox. */
  isQueued: boolean;
  /** Whether everyone has left the world, so that nothing more is delivered. */
  isOver: boolean;
}

/** The ports of a feed to the other layers. */
export interface FeedPorts {
  readonly clock: Clock;
  readonly store: { readonly chat: ChatStore };
  /** Returns the number of the last entry in a world's log that this process has received. */
  readonly reached: (world: string) => number;
  readonly outboxes: Outboxes;
  readonly flushQueue: FlushQueue;
}

/** The ports of a feed to the parts that send its events. */
export interface FeedParts {
  /** Prepares the delivery of a channel's events. The steps run in the returned order. */
  readonly prepare: (world: string, deliveries: readonly ChatDelivery[]) => Promise<Step[]>;
  /** Returns the number of connections that receive a channel's deliveries. */
  readonly sizeOf: (channel: string) => number;
}

/**
 * Puts chat events into the outboxes of their channels. Events arrive from the log, once and in
 * order. All events waiting in a channel are flushed together. No channel waits for another
 * channel.
 */
export class Feed {
  readonly #ports: FeedPorts;
  readonly #parts: FeedParts;
  /** The channels with undelivered events, by id. */
  readonly #streams = new Map<string, Stream>();
  /** An id in each followed world that no received event's id exceeds, and that all later ones exceed. */
  readonly #last = new Map<string, number>();
  /** For each followed world, a promise that resolves once {@link ChatStore.lastId} is known. */
  readonly #begun = new Map<string, Promise<void>>();

  readonly handlers: EntryHandlers = { "chat.event": (event) => this.#receive(event) };

  constructor(ports: FeedPorts, parts: FeedParts) {
    this.#ports = ports;
    this.#parts = parts;
  }

  /** Prepares a newly followed world. Resolves once {@link lastOf} covers all earlier events. */
  async begin(world: string): Promise<void> {
    let begun = this.#begun.get(world);
    if (!begun) {
      const isCurrent = () => this.#begun.get(world) === begun;
      begun = this.#ports.store.chat.lastId(world).then((last) => {
        // If the world was forgotten during the read, it may be followed again from a later event.
        if (isCurrent()) this.#note(world, last);
      });
      this.#begun.set(world, begun);
      begun.catch(() => {
        if (isCurrent()) this.#begun.delete(world);
      });
    }
    await begun;
  }

  /** Drops a world that everyone has left, or whose history was lost. Its waiting events are not delivered. */
  forget(world: string): void {
    this.#begun.delete(world);
    this.#last.delete(world);
    for (const [channel, stream] of this.#streams) {
      if (stream.world !== world) continue;
      stream.isOver = true;
      this.#streams.delete(channel);
    }
  }

  /** Returns an id in a world, or 0 if there have been no events. Events with greater ids will be delivered. */
  lastOf(world: string): number {
    return this.#last.get(world) ?? 0;
  }

  #note(world: string, event: number): void {
    this.#last.set(world, Math.max(event, this.lastOf(world)));
  }

  /** Returns the id up to which all of a channel's events have been delivered. */
  cursorOf(world: string, channel: string): number {
    return this.#streams.get(channel)?.cursor ?? this.#ports.reached(world);
  }

  /** Returns the id up to which the notices of all of a channel's events have been sent. */
  noticedOf(world: string, channel: string): number {
    return this.#streams.get(channel)?.noticed ?? this.#ports.reached(world);
  }

  /** Records that the notices of an event are now being sent. */
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

  /** @param delivered the id up to which everything has been delivered, if the channel has no stream. */
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

  /**
   * Delivers the events received so far. Later events are flushed separately, behind everything
   * else in the queue.
   */
  async #flush(stream: Stream): Promise<void> {
    const { outboxes, flushQueue } = this.#ports;
    const { last, waiting } = stream;
    const isOver = () => stream.isOver;
    stream.isQueued = false;
    while (stream.cursor < last && !stream.isOver) {
      let batch: readonly ChatDelivery[] = [];
      let steps: Step[] = [];
      const prepare = async () => {
        batch = waiting.length > 0 ? waiting.slice(0, MAX_BATCH) : await this.#read(stream, last);
        if (batch.length > 0) steps = await this.#parts.prepare(stream.world, batch);
      };
      await outboxes.persist(prepare, { isOver });
      // Events that were not found no longer exist.
      stream.cursor = batch.at(-1)?.event.id ?? last;
      while (waiting[0] && waiting[0].event.id <= stream.cursor) waiting.shift();
      if (stream.cursor === stream.last) stream.isBehind = false;
      for (const step of steps) await outboxes.persist(step, { isOver });
      stream.noticed = stream.cursor;
      // Another batch in the same turn could turn a subscriber into a slow reader.
      if (batch.length > 1) await flushQueue.drained();
    }
    if (!stream.isQueued && this.#streams.get(stream.channel) === stream) {
      this.#streams.delete(stream.channel);
    }
  }

  /** Reads the events that did not fit into memory. */
  async #read({ world, channel, cursor }: Stream, last: number): Promise<readonly ChatDelivery[]> {
    const { clock, store } = this.#ports;
    // Reads within one turn share one state, which may be older than the event.
    await nextTurn(clock);
    const found = await store.chat.deliveries(world, channel, cursor, MAX_BATCH);
    return found.filter(({ event }) => event.id <= last);
  }
}
