import type { ChannelState, SentEvent } from "../../schemas/live/index.js";
import { type Client, type LiveError, persist } from "./client.js";

/** How many events the server returns at most to a subscription. */
const MAX_SUBSCRIBED_EVENTS = 1000;

/** The subscription of a client to one channel, for as long as it has readers. */
export class Subscription {
  readonly #client: Client;
  readonly #channel: string;
  readonly #isKept: () => boolean;
  readonly #readers = new Set<Reader>();
  /** Whether the present connection is subscribed, as far as is known. */
  #isActive = false;
  /** The id of the last event that was pushed, or that was before all pushes. */
  #newest = 0;
  /** Counts up whenever the attempt to subscribe that is under way no longer counts. */
  #attempt = 0;
  #closed: { error?: LiveError } | undefined;

  /** @param isKept whether the server's subscription is needed even without readers. */
  constructor(client: Client, channel: string, isKept: () => boolean) {
    this.#client = client;
    this.#channel = channel;
    this.#isKept = isKept;
  }

  get isRead(): boolean {
    return this.#readers.size > 0;
  }

  /** @param after the id of an event to begin after; undefined begins with the next push. */
  read(after?: number): Reader {
    const reader: Reader = new Reader(
      {
        fetch: (after, isOver) => eventsAfter(this.#client, this.#channel, after, isOver),
        left: (reader) => this.#left(reader),
      },
      after,
    );
    if (this.#closed) {
      reader.end(this.#closed.error);
      return reader;
    }
    this.#readers.add(reader);
    if (this.#isActive) reader.resume(this.#newest, undefined, [], true);
    else if (this.#readers.size === 1) this.renew();
    return reader;
  }

  /** Passes a pushed event to the readers. */
  pushed(event: SentEvent): void {
    const plain = plainEvent(event);
    this.#newest = Math.max(this.#newest, plain.event_id);
    for (const reader of this.#readers) {
      // Without a subscription, earlier events may be missing.
      if (this.#isActive) reader.offer(plain);
      else reader.miss();
    }
  }

  /** Subscribes again, if there are readers, and fetches the missed events. */
  renew(): void {
    this.disconnected();
    if (this.isRead && this.#client.isConnected) void this.#subscribe();
  }

  disconnected(): void {
    this.#isActive = false;
    this.#attempt++;
  }

  /** Ends all iterations; without an error, as if the channel were at its end. */
  end(error?: LiveError): void {
    this.disconnected();
    for (const reader of this.#readers) reader.end(error);
    this.#readers.clear();
  }

  /** Ends all iterations, present and future. */
  close(error?: LiveError): void {
    this.#closed = error ? { error } : {};
    this.end(error);
  }

  async #subscribe(): Promise<void> {
    const attempt = this.#attempt;
    const isOver = () => attempt !== this.#attempt;
    const channel = this.#channel;
    let after = this.#tail();
    const subscribe = () =>
      this.#client.call("chat.subscribe", { channel, ...(after !== undefined && { after }) });
    try {
      const answer = await persist(subscribe, isOver).catch((error) => {
        if ((error as LiveError).code !== "server.too_large") throw error;
        after = undefined;
        return persist(subscribe, isOver);
      });
      if (!isOver()) this.#subscribed(answer, after);
    } catch (error) {
      if (!isOver()) this.end(error as LiveError);
    }
  }

  #subscribed(answer: ChannelState, after: number | undefined): void {
    const newest = answer.next_event_id - 1;
    const events = (answer.events ?? []).map(plainEvent);
    const isComplete = events.length < MAX_SUBSCRIBED_EVENTS;
    this.#isActive = true;
    this.#newest = Math.max(newest, events.at(-1)?.event_id ?? 0);
    for (const reader of this.#readers) {
      reader.resume(newest, after, events, isComplete);
    }
  }

  /** Up to where the most advanced reader has everything. */
  #tail(): number | undefined {
    const tails = [...this.#readers].flatMap(({ tail }) => tail ?? []);
    return tails.length > 0 ? Math.max(...tails) : undefined;
  }

  #left(reader: Reader): void {
    if (!this.#readers.delete(reader) || this.isRead) return;
    this.disconnected();
    if (this.#isKept() || !this.#client.isConnected) return;
    const payload = { channel: this.#channel };
    // A subscription that stays costs a few frames, until the connection ends.
    this.#client.call("chat.unsubscribe", payload).catch(() => {});
  }
}

/** How many events a reader buffers. A slow consumer fetches later ones when it is ready. */
const MAX_BUFFERED_EVENTS = 1000;

/** The part of a channel that a {@link Reader} uses. */
export interface Source {
  /** The oldest events after an id; `isLast` if there are no more. */
  fetch(after: number, isOver: () => boolean): Promise<{ events: SentEvent[]; isLast: boolean }>;
  /** The iteration has ended. */
  left(reader: Reader): void;
}

/**
 * One iteration over the events of a channel. Pushed events wait for the consumer. When
 * the consumer is too slow, or events may have been missed, there is a gap after the waiting
 * events: the reader drops later pushes, and fetches from the gap on.
 */
export class Reader implements AsyncIterableIterator<SentEvent, undefined> {
  readonly #source: Source;
  /** The events that the consumer gets next. */
  #waiting: SentEvent[] = [];
  /** Pushes during a fetch of older events; undefined without a fetch. */
  #held: SentEvent[] | undefined;
  /** All up to this id are given, wait, or are held; undefined before the beginning. */
  #tail: number | undefined;
  /** Whether there may be events after the tail that were not pushed. */
  #hasGap = false;
  #wake: () => void = () => {};
  #end: { error?: LiveError } | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  /** @param after the id of an event to begin after; undefined begins with the next push. */
  constructor(source: Source, after?: number) {
    this.#source = source;
    this.#tail = after;
  }

  /** The id up to which it has everything, if it has begun. */
  get tail(): number | undefined {
    return this.#tail;
  }

  /** Buffers a pushed event. */
  offer(event: SentEvent): void {
    const { event_id: id } = event;
    if (this.#tail === undefined || this.#hasGap || id <= this.#tail) return;
    const list = this.#held ?? this.#waiting;
    if (list.length >= MAX_BUFFERED_EVENTS) {
      this.#hasGap = true;
      return;
    }
    list.push(event);
    this.#tail = id;
    this.#wake();
  }

  /** Marks a gap: events may have been missed. */
  miss(): void {
    if (this.#tail === undefined) return;
    this.#hasGap = true;
    this.#wake();
  }

  /**
   * Continues after a new subscription.
   * @param newest pushes have ids after this one.
   * @param after `events` follow this id; undefined if there are none.
   * @param isComplete whether there are no more after this id.
   */
  resume(
    newest: number,
    after: number | undefined,
    events: SentEvent[],
    isComplete: boolean,
  ): void {
    if (this.#tail === undefined) this.#tail = newest;
    // A server that was restored from a backup reuses ids.
    else if (this.#tail > newest) this.#tail = newest;
    else if (after === undefined || this.#tail < after) return this.miss();
    this.#hasGap = false;
    for (const event of events) this.offer(event);
    if (!isComplete) this.miss();
    this.#wake();
  }

  /** Ends the iteration; with an error, after the waiting events. */
  end(error?: LiveError): void {
    this.#end ??= error ? { error } : {};
    if (!error) this.#waiting = [];
    this.#wake();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<SentEvent, undefined>> {
    const next = this.#turn.then(() => this.#next());
    this.#turn = next.catch(() => {});
    return next;
  }

  return(): Promise<IteratorResult<SentEvent, undefined>> {
    this.#end = {};
    this.#waiting = [];
    this.#wake();
    this.#source.left(this);
    return Promise.resolve({ done: true, value: undefined });
  }

  async #next(): Promise<IteratorResult<SentEvent, undefined>> {
    for (;;) {
      const event = this.#waiting.shift();
      if (event) return { done: false, value: event };
      if (this.#end) {
        const { error } = this.#end;
        this.#end = {};
        if (error) throw error;
        return { done: true, value: undefined };
      }
      const woken = new Promise<void>((wake) => (this.#wake = wake));
      if (this.#hasGap && !this.#held) void this.#fetch();
      await woken;
    }
  }

  /** Fetches the next events. It never rejects. */
  async #fetch(): Promise<void> {
    const after = this.#tail!;
    // Events pushed from now on may be missing in the answer.
    this.#held = [];
    this.#hasGap = false;
    try {
      const isOver = () => this.#end !== undefined;
      const { events, isLast } = await this.#source.fetch(after, isOver);
      if (this.#end) return;
      const last = events.at(-1)?.event_id ?? after;
      this.#waiting = events;
      if (isLast) {
        this.#waiting.push(...this.#held.filter((it) => it.event_id > last));
        this.#tail = Math.max(last, this.#tail!);
      } else {
        this.#tail = last;
        this.#hasGap = true;
      }
    } catch (error) {
      this.end(error as LiveError);
      this.#source.left(this);
    } finally {
      this.#held = undefined;
      this.#wake();
    }
  }
}

/** Events of any size fit into a page of this many. */
const SAFE_PAGE_EVENTS = 25;
const PAGE_EVENTS = 250;
/** More than the id of any event. */
export const NEWEST = Number.MAX_SAFE_INTEGER;

/** An event without the fields that only pages or only pushes add. */
export function plainEvent(event: SentEvent): SentEvent {
  const plain: SentEvent & { users?: unknown; type?: unknown } = { ...event };
  delete plain.users;
  delete plain.type;
  return plain;
}

const isTooLarge = (error: unknown) => (error as LiveError).code === "server.too_large";

/**
 * The oldest events after an id. It waits for connections.
 * @param isOver whether the caller has given up.
 * @returns `isLast` if there are no more.
 */
export async function eventsAfter(
  client: Client,
  channel: string,
  after: number,
  isOver: () => boolean,
): Promise<{ events: SentEvent[]; isLast: boolean }> {
  const fetch = async (count: number) => {
    const { results } = await persist(
      () => client.call("chat.fetch", { channel, count, after_id: after }),
      isOver,
    );
    const isLast = results.length < count;
    return { events: results.map(plainEvent), isLast };
  };
  try {
    return await fetch(PAGE_EVENTS);
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    return fetch(SAFE_PAGE_EVENTS);
  }
}

/** The newest events before an id, oldest first; fewer than asked for only at the beginning. */
export async function eventsBefore(
  client: Client,
  channel: string,
  before: number,
  count: number,
): Promise<SentEvent[]> {
  try {
    const payload = { channel, count, before_id: before };
    const { results } = await client.call("chat.fetch", payload);
    return results.map(plainEvent);
  } catch (error) {
    if (!isTooLarge(error) || count <= SAFE_PAGE_EVENTS) throw error;
    const half = Math.ceil(count / 2);
    const newer = await eventsBefore(client, channel, before, half);
    if (newer.length < half) return newer;
    const next = newer[0]!.event_id;
    const older = await eventsBefore(client, channel, next, count - half);
    return [...older, ...newer];
  }
}

/** Options for joining a channel. */
export interface JoinOptions {
  /** Whether it ends with the connections; the settings of the room say by default. Only moderators may choose. */
  volatile?: boolean;
}

/** The membership of the user in a channel. One that does not last is renewed on each connection. */
export class Membership {
  readonly #client: Client;
  readonly #channel: string;
  readonly #report: (error: unknown) => void;
  /** How to join again; undefined if there is no need. */
  #renewal: JoinOptions | undefined;
  /** Counts up whenever the attempt to join again that is under way no longer counts. */
  #attempt = 0;
  #ensuring: Promise<void> | undefined;

  /** @param report receives the error if the user cannot join again. */
  constructor(client: Client, channel: string, report: (error: unknown) => void) {
    this.#client = client;
    this.#channel = channel;
    this.#report = report;
  }

  /** Whether it ends when the last connection unsubscribes. */
  get isVolatile(): boolean {
    return this.#renewal !== undefined;
  }

  get kind(): "lasting" | "volatile" | "none" {
    if (this.#lasts()) return "lasting";
    if (this.isVolatile) return "volatile";
    // There are no others in a direct channel.
    return this.#client.state && !this.#isOfRoom ? "lasting" : "none";
  }

  get #isOfRoom(): boolean {
    const { rooms = [] } = this.#client.state ?? {};
    return rooms.some(({ id }) => id === this.#channel);
  }

  /** Joins unless the user is a member. It waits for connections. */
  ensure(): Promise<void> {
    const join = async () => {
      await this.#client.connected();
      if (this.kind === "none") await this.join({});
    };
    this.#ensuring ??= persist(join).finally(() => (this.#ensuring = undefined));
    return this.#ensuring;
  }

  /** The server reported that the user is no member. @returns whether joining may help. */
  lost(): boolean {
    this.#forget();
    return this.#isOfRoom;
  }

  async join(options: JoinOptions): Promise<ChannelState> {
    const payload = { channel: this.#channel, ...options };
    const answer = await this.#client.call("chat.join", payload);
    this.#renewal = this.#lasts() ? undefined : options;
    return answer;
  }

  async leave(): Promise<void> {
    // A connection that begins meanwhile must not join again.
    this.#forget();
    await this.#client.call("chat.leave", { channel: this.#channel });
    this.#forget();
  }

  /** Joins again on a new connection, if the server forgot the membership with the old one. */
  async renew(): Promise<void> {
    const attempt = ++this.#attempt;
    if (this.#lasts()) this.#renewal = undefined;
    const renewal = this.#renewal;
    if (!renewal) return;
    const isOver = () => attempt !== this.#attempt;
    try {
      await persist(() => this.join(renewal), isOver);
    } catch (error) {
      if (isOver()) return;
      this.#forget();
      this.#report(error);
    }
  }

  disconnected(): void {
    this.#attempt++;
  }

  #forget(): void {
    this.#attempt++;
    this.#renewal = undefined;
  }

  #lasts(): boolean {
    const { channels = [] } = this.#client.state ?? {};
    return channels.some(({ id }) => id === this.#channel);
  }
}
