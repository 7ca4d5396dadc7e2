import type { ChannelState, Commands, PublicUser, SentEvent } from "../../schemas/live/index.js";
import type { Client } from "./client.js";
import type { MessageContent } from "./delivery.js";
import type { JoinOptions, Membership } from "./membership.js";
import type { CallOptions } from "./options.js";
import type { Message, Outbox, Sender, SendOptions } from "./outbox.js";
import { eventsBefore, NEWEST, plainEvent } from "./pages.js";
import type { ReadMark } from "./read-mark.js";
import type { KnownUsers } from "./users.js";
import type { Subscription } from "./subscription.js";

/** Which part of the history is read. */
export interface HistoryOptions {
  /** Only events before this id. Default: all. */
  before?: number;
  /** How many events, 1 to 1,000. Default: 25. */
  count?: number;
}

/** The work behind a {@link Channel}. */
export interface ChannelParts {
  readonly subscription: Subscription;
  readonly membership: Membership;
  readonly outbox: Sender;
  readonly readMark: ReadMark;
  readonly users: KnownUsers;
}

/**
 * The chat of a room, or a direct channel. Iterating gives each new event once, in the
 * order of their ids, across reconnections:
 *
 * ```ts
 * for await (const event of live.channel(room)) show(event);
 * ```
 */
export class Channel implements AsyncIterable<SentEvent> {
  readonly #client: Client;
  readonly #parts: ChannelParts;

  /** Use `live.channel(id)`. */
  constructor(
    client: Client,
    readonly id: string,
    parts: ChannelParts,
  ) {
    this.#client = client;
    this.#parts = parts;
  }

  /** The users who occur in events, by id; at most the last 10,000 of all channels. */
  get users(): ReadonlyMap<string, PublicUser> {
    return this.#parts.users.all;
  }

  /** The id of the event up to which the user has read; 0 for none. */
  get readPointer(): number {
    return this.#client.state?.readPointers[this.id] ?? 0;
  }

  /** Whether there are events after the read pointer, as far as the server reported. */
  get isUnread(): boolean {
    const pointer = this.#client.state?.unreadPointers[this.id] ?? 0;
    return pointer > this.readPointer;
  }

  /** How many mentions and direct messages the user has not read. */
  get notifications(): number {
    return this.#client.state?.notificationCounts[this.id] ?? 0;
  }

  /** The messages that a page shows while they are on their way. */
  get outbox(): Outbox {
    return this.#parts.outbox;
  }

  /**
   * The user's membership, as far as is known: lasting, as for everybody in a direct channel;
   * volatile, until the user's connections end; or none.
   */
  get membership(): "lasting" | "volatile" | "none" {
    return this.#parts.membership.kind;
  }

  /** The events that come from now on. */
  [Symbol.asyncIterator](): AsyncIterableIterator<SentEvent, undefined> {
    return this.events();
  }

  /**
   * New events. The iteration ends with `close()`; it throws a {@link LiveError} when the
   * channel is lost, or when the server turns the client away.
   * @param options.after gives all events after this id; 0 begins with the first event.
   */
  events({ after }: { after?: number } = {}): AsyncIterableIterator<SentEvent, undefined> {
    return this.#parts.subscription.read(after);
  }

  /**
   * A page of the history.
   * @returns the newest events, oldest first; fewer than `count` only at the beginning.
   */
  history({ before = NEWEST, count = 25 }: HistoryOptions = {}): Promise<SentEvent[]> {
    return eventsBefore(this.#client, this.id, before, count);
  }

  /**
   * Searches the messages of the channel.
   * @param query each of its words begins a word of the message: 2 to 100 characters.
   * @param options.before only messages before this id.
   * @returns 20 at a time, the newest first, and whether there are more before the last one.
   */
  async search(
    query: string,
    { before }: { before?: number } = {},
  ): Promise<{ results: SentEvent[]; more: boolean }> {
    const payload = { channel: this.id, query, ...(before !== undefined && { before }) };
    const { results, more } = await this.#client.call("chat.search", payload);
    return { results: results.map(plainEvent), more };
  }

  /** The pages of the history, from the newest back to the beginning. */
  async *pages({ before, count = 25 }: HistoryOptions = {}): AsyncGenerator<
    SentEvent[],
    undefined
  > {
    for (let last = before; ;) {
      const page = await this.history({ ...(last !== undefined && { before: last }), count });
      if (page.length > 0) yield page;
      if (page.length < count) return;
      last = page[0]?.event_id;
    }
  }

  /**
   * Sends a message, after those sent before. It waits for connections.
   * @param content a text, or the content of a message of any type.
   * @param options.timeout no limit by default.
   */
  send(content: string | MessageContent, options?: SendOptions): Message {
    return this.#parts.outbox.send(content, undefined, options);
  }

  /** Replaces the content of an own message, like {@link send}. */
  edit(event: number, content: string | MessageContent, options?: CallOptions): Message {
    return this.#parts.outbox.send(content, event, options);
  }

  /** Deletes an own message, or, as a moderator, any message; like {@link send}. */
  delete(event: number, options?: CallOptions): Promise<SentEvent> {
    return this.#parts.outbox.send({ type: "deleted" }, event, options);
  }

  /** @param emoji exactly one. */
  react(event: number, emoji: string): Promise<Commands["chat.react"]["result"]> {
    return this.#react(event, emoji, false);
  }

  unreact(event: number, emoji: string): Promise<Commands["chat.react"]["result"]> {
    return this.#react(event, emoji, true);
  }

  /**
   * Listens to changed reactions for as long as an iteration over the channel runs.
   * @param listener gets the whole event.
   * @returns ends it.
   */
  onReaction(listener: (event: SentEvent) => unknown): () => void {
    return this.#client.on("chat.event.reaction", (event) =>
      event.channel === this.id ? listener(event) : undefined,
    );
  }

  /**
   * Marks the channel as read, at most once a second; the last call counts. `onError`
   * gets the refusal.
   * @param event up to this one; by default, up to the newest one that the client got.
   */
  markRead(event?: number): void {
    this.#parts.readMark.set(event);
  }

  /** Becomes a member, to send and react. */
  join(options: JoinOptions = {}): Promise<ChannelState> {
    return this.#parts.membership.join(options);
  }

  /** Becomes a member unless the user is one. It waits for connections. */
  ensureMember(): Promise<void> {
    return this.#parts.membership.ensure();
  }

  /** Ends the membership, or hides a direct channel. */
  async leave(): Promise<void> {
    await this.#parts.membership.leave();
    // The server has ended the subscription.
    this.#parts.subscription.renew();
  }

  #react(event: number, reaction: string, remove: boolean) {
    const payload = { channel: this.id, event, reaction, delete: remove };
    return this.#client.call("chat.react", payload);
  }
}
