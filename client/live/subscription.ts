import type { ChannelState, SentEvent } from "../../schemas/live/index.js";
import { type Client, type LiveError, persist } from "./client.js";

/** Maximum number of events in the server's response to a subscription. */
const MAX_SUBSCRIBED_EVENTS = 1000;

/** A client's subscription to one channel, active while it has readers. */
export class Subscription {
  readonly #client: Client;
  readonly #channel: string;
  readonly #isKept: () => boolean;
  readonly #readers = new Set<Reader>();
  /** Whether the current connection is known to be subscribed. */
  #isActive = false;
  /** The id of the last pushed event; before the first push, the id of the channel's last event. */
  #newest = 0;
  /** Incremented to invalidate a subscribe attempt in flight. */
  #attempt = 0;
  #closed: { error?: LiveError } | undefined;

  /** @param isKept whether the server-side subscription is needed even without readers. */
  constructor(client: Client, channel: string, isKept: () => boolean) {
    this.#client = client;
    this.#channel = channel;
    this.#isKept = isKept;
  }

  get isRead(): boolean {
    return this.#readers.size > 0;
  }

  /** @param after the id of the event to start after; undefined starts with the next push. */
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
      // Without an active subscription, events before this push may be missing.
      if (this.#isActive) reader.offer(plain);
      else reader.miss();
    }
  }

  /** Resubscribes if there are readers, and fetches missed events. */
  renew(): void {
    this.disconnected();
    if (this.isRead && this.#client.isConnected) void this.#subscribe();
  }

  disconnected(): void {
    this.#isActive = false;
    this.#attempt++;
  }

  /** Ends all current iterations, with an error if there is one. */
  end(error?: LiveError): void {
    this.disconnected();
    for (const reader of this.#readers) reader.end(error);
    this.#readers.clear();
  }

  /** Ends all current and future iterations. */
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

  /** The tail of the most advanced reader. */
  #tail(): number | undefined {
    const tails = [...this.#readers].flatMap(({ tail }) => tail ?? []);
    return tails.length > 0 ? Math.max(...tails) : undefined;
  }

  #left(reader: Reader): void {
    if (!this.#readers.delete(reader) || this.isRead) return;
    this.disconnected();
    if (this.#isKept() || !this.#client.isConnected) return;
    const payload = { channel: this.#channel };
    // Best effort: staying subscribed only costs a few frames until the connection ends.
    this.#client.call("chat.unsubscribe", payload).catch(() => {});
  }
}

/** Maximum number of events that a reader buffers. For a slow consumer, later events are fetched on demand. */
const MAX_BUFFERED_EVENTS = 1000;

/** The part of a channel that a {@link Reader} uses. */
export interface Source {
  /** Fetches the oldest events after an id. `isLast` is true if no events follow. */
  fetch(after: number, isOver: () => boolean): Promise<{ events: SentEvent[]; isLast: boolean }>;
  /** Called when the iteration ends. */
  left(reader: Reader): void;
}

/**
 * One iteration over a channel's events. Pushed events are buffered for the consumer. If the
 * consumer is too slow, or if events may have been missed, a gap follows the buffered events: the
 * reader then drops later pushes and fetches from the gap onward.
 */
export class Reader implements AsyncIterableIterator<SentEvent, undefined> {
  readonly #source: Source;
  /** Buffered events that the consumer receives next. */
  #waiting: SentEvent[] = [];
  /** Events pushed while preceding events are being fetched; undefined if no fetch is in flight. */
  #held: SentEvent[] | undefined;
  /** Every event up to this id was delivered, is waiting, or is held; undefined before the start. */
  #tail: number | undefined;
  /** Whether there may be events after the tail that were not pushed. */
  #hasGap = false;
  #wake: () => void = () => {};
  #end: { error?: LiveError } | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  /** @param after the id of the event to start after; undefined starts with the next push. */
  constructor(source: Source, after?: number) {
    this.#source = source;
    this.#tail = after;
  }

  /** The id up to which the reader has every event; undefined before the start. */
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

  /** Records that events may have been missed. */
  miss(): void {
    if (this.#tail === undefined) return;
    this.#hasGap = true;
    this.#wake();
  }

  /**
   * Resumes after a new subscription.
   * @param newest the highest event id before the subscription; pushes have higher ids.
   * @param after the id that `events` follow; undefined if no events were requested.
   * @param isComplete whether `events` holds every event after `after`.
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

  /**
   * Ends the iteration. An error is thrown once the consumer has received the waiting events.
   * Without an error, the waiting events are dropped.
   */
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

  /** Fetches the next events. Never rejects. */
  async #fetch(): Promise<void> {
    const after = this.#tail!;
    // The response may lack events that are pushed from now on.
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

/** The page size of the chat history, in events. */
const PAGE_EVENTS = 250;
/** A page with this many events fits into a response, regardless of the size of the events. */
const SAFE_PAGE_EVENTS = 25;
/** Greater than any event id. */
export const NEWEST = Number.MAX_SAFE_INTEGER;

/** Removes the fields that only fetched events or only pushed events have. */
export function plainEvent(event: SentEvent): SentEvent {
  const plain: SentEvent & { users?: unknown; type?: unknown } = { ...event };
  delete plain.users;
  delete plain.type;
  return plain;
}

const isTooLarge = (error: unknown) => (error as LiveError).code === "server.too_large";

/**
 * Fetches the oldest events after an id. Waits for a connection.
 * @param isOver whether the caller has given up.
 * @returns the events. `isLast` is true if no events follow.
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

/**
 * Fetches the newest events before an id, oldest first. Returns fewer than `count` only at the
 * beginning of the channel.
 */
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
  /**
   * Whether the membership ends with the user's connections. Defaults to the room's setting; only
   * moderators may choose.
   */
  volatile?: boolean;
}

/** The user's membership in a channel. A volatile membership is renewed on each connection. */
export class Membership {
  readonly #client: Client;
  readonly #channel: string;
  readonly #report: (error: unknown) => void;
  /** The options for rejoining; undefined if rejoining is unnecessary. */
  #renewal: JoinOptions | undefined;
  /** Incremented to invalidate a rejoin attempt in flight. */
  #attempt = 0;
  #ensuring: Promise<void> | undefined;

  /** @param report receives the error if the user cannot rejoin. */
  constructor(client: Client, channel: string, report: (error: unknown) => void) {
    this.#client = client;
    this.#channel = channel;
    this.#report = report;
  }

  /** Whether the membership ends when the last connection unsubscribes. */
  get isVolatile(): boolean {
    return this.#renewal !== undefined;
  }

  get kind(): "lasting" | "volatile" | "none" {
    if (this.#lasts()) return "lasting";
    if (this.isVolatile) return "volatile";
    // Memberships in direct channels are always lasting.
    return this.#client.state && !this.#isOfRoom ? "lasting" : "none";
  }

  get #isOfRoom(): boolean {
    const { rooms = [] } = this.#client.state ?? {};
    return rooms.some(({ id }) => id === this.#channel);
  }

  /** Joins unless the user is already a member. Waits for a connection. */
  ensure(): Promise<void> {
    const join = async () => {
      await this.#client.connected();
      if (this.kind === "none") await this.join({});
    };
    this.#ensuring ??= persist(join).finally(() => (this.#ensuring = undefined));
    return this.#ensuring;
  }

  /**
   * Handles the server's report that the user is not a member.
   * @returns whether rejoining may help.
   */
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
    // A connection that is opened before the response arrives must not rejoin.
    this.#forget();
    await this.#client.call("chat.leave", { channel: this.#channel });
    this.#forget();
  }

  /** Rejoins on a new connection if the membership ended with the previous connection. */
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
