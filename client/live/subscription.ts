import type { ChannelState, SentEvent } from "../../schemas/live/index.js";
import { persist, type Client } from "./client.js";
import type { LiveError } from "./error.js";
import { eventsAfter, plainEvent } from "./pages.js";
import { Reader } from "./reader.js";

/** How many events the server returns at most to a subscription. */
const MAX_RETURNED = 1000;

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

  /** Takes an event that the server pushed. */
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

  /** Ends all iterations, and all to come. */
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
    const isComplete = events.length < MAX_RETURNED;
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
