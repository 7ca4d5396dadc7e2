import type {
  Authenticated,
  ChannelState,
  Commands,
  PublicUser,
  Pushes,
  SentEvent,
} from "../../schemas/live/index.js";
import { type CallOptions, type Client, LiveError, persist } from "./client.js";
import { RateLimiter } from "./queue.js";
import {
  Delivery,
  type Message,
  type MessageContent,
  type Outbox,
  Sender,
  type SendOptions,
} from "./outbox.js";
import { isWorldPush, type LiveState } from "./state.js";
import {
  eventsBefore,
  type JoinOptions,
  Membership,
  NEWEST,
  plainEvent,
  Subscription,
} from "./subscription.js";

/** Selects a part of the history. */
export interface HistoryOptions {
  /** Selects only events before this id. Default: all events. */
  before?: number;
  /** Maximum number of events, from 1 to 1,000. Default: 25. */
  count?: number;
}

/** The internal parts of a {@link Channel}. */
interface ChannelParts {
  readonly subscription: Subscription;
  readonly membership: Membership;
  readonly outbox: Sender;
  readonly readMark: ReadMark;
  readonly users: KnownUsers;
}

/**
 * A room's chat, or a direct channel. Iteration yields each new event once, in order of event id,
 * across reconnections:
 *
 * ```ts
 * for await (const event of live.channel(room)) show(event);
 * ```
 */
export class Channel implements AsyncIterable<SentEvent> {
  readonly #client: Client;
  readonly #parts: ChannelParts;

  /** Use `live.channel(id)` instead. */
  constructor(
    client: Client,
    readonly id: string,
    parts: ChannelParts,
  ) {
    this.#client = client;
    this.#parts = parts;
  }

  /**
   * The users who appear in events, by id. The client keeps the 10,000 users that it received last,
   * across all channels.
   */
  get users(): ReadonlyMap<string, PublicUser> {
    return this.#parts.users.all;
  }

  /** The id of the last event that the user has read, or 0 if there is none. */
  get readPointer(): number {
    return this.#client.state?.readPointers[this.id] ?? 0;
  }

  /** Whether the server has reported events after the read pointer. */
  get isUnread(): boolean {
    const pointer = this.#client.state?.unreadPointers[this.id] ?? 0;
    return pointer > this.readPointer;
  }

  /** Number of mentions and direct messages that the user has not read yet. */
  get notifications(): number {
    return this.#client.state?.notificationCounts[this.id] ?? 0;
  }

  /** Messages that are being sent, for display on a page. */
  get outbox(): Outbox {
    return this.#parts.outbox;
  }

  /**
   * The user's membership, as far as the client knows: `lasting` (always, in a direct channel),
   * `volatile` (until the user's connections end), or `none`.
   */
  get membership(): "lasting" | "volatile" | "none" {
    return this.#parts.membership.kind;
  }

  /** Yields new events from now on. */
  [Symbol.asyncIterator](): AsyncIterableIterator<SentEvent, undefined> {
    return this.events();
  }

  /**
   * Yields new events. The iteration ends when the client is closed. It throws a {@link LiveError}
   * if the channel is lost, or if the server refuses the client.
   * @param options.after the id after which all events are yielded; 0 starts with the first event.
   */
  events({ after }: { after?: number } = {}): AsyncIterableIterator<SentEvent, undefined> {
    return this.#parts.subscription.read(after);
  }

  /**
   * Fetches a page of the history.
   * @returns the newest events, oldest first. Fewer than `count` events are returned only at the
   * beginning of the history.
   */
  history({ before = NEWEST, count = 25 }: HistoryOptions = {}): Promise<SentEvent[]> {
    return eventsBefore(this.#client, this.id, before, count);
  }

  /**
   * Searches the channel's messages.
   * @param query the words to search for, 2 to 100 characters in total. Each search word matches
   * the beginning of a word in a message.
   * @param options.before returns only messages before this id.
   * @returns up to 20 matching messages, newest first, and whether there are more matches.
   */
  async search(
    query: string,
    { before }: { before?: number } = {},
  ): Promise<{ results: SentEvent[]; more: boolean }> {
    const payload = { channel: this.id, query, ...(before !== undefined && { before }) };
    const { results, more } = await this.#client.call("chat.search", payload);
    return { results: results.map(plainEvent), more };
  }

  /** Yields the history page by page, from the newest page back to the first. */
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
   * Sends a message after all messages that were queued before it. Without a connection, the
   * message waits.
   * @param content plain text, or the content of a message of any type.
   * @param options.timeout unlimited by default.
   */
  send(content: string | MessageContent, options?: SendOptions): Message {
    return this.#parts.outbox.send(content, undefined, options);
  }

  /** Replaces the content of one of the user's own messages. The edit is queued like a message; see {@link send}. */
  edit(event: number, content: string | MessageContent, options?: CallOptions): Message {
    return this.#parts.outbox.send(content, event, options);
  }

  /**
   * Deletes one of the user's own messages or, for a moderator, any message. The deletion is queued
   * like a message; see {@link send}.
   */
  async delete(event: number, options?: CallOptions): Promise<SentEvent> {
    // Deletions never wait for a moderator.
    return (await this.#parts.outbox.send({ type: "deleted" }, event, options))!;
  }

  /** Returns the messages that wait for a moderator: all for moderators, or the user's own. */
  held(): Promise<Commands["chat.held.list"]["result"]> {
    return this.#client.call("chat.held.list", { channel: this.id });
  }

  /**
   * Sends a message that waits, as a moderator.
   * @param held the id under which it waits.
   * @returns the id of its event.
   */
  async approve(held: string): Promise<number> {
    return (await this.#client.call("chat.approve", { channel: this.id, event: held })).id;
  }

  /**
   * Erases a message that waits, as a moderator.
   * @param held the id under which it waits.
   * @param reason the reason that the author of the message reads.
   */
  async reject(held: string, reason?: string): Promise<void> {
    const payload = { channel: this.id, event: held, ...(reason !== undefined && { reason }) };
    await this.#client.call("chat.reject", payload);
  }

  /** Reports a message to the moderators. @param text up to 500 characters. */
  async report(
    event: number,
    reason: Commands["chat.report"]["payload"]["reason"],
    text?: string,
  ): Promise<void> {
    const payload = { channel: this.id, event, reason, ...(text !== undefined && { text }) };
    await this.#client.call("chat.report", payload);
  }

  /**
   * Adds a reaction to an event.
   * @param emoji a single emoji.
   */
  react(event: number, emoji: string): Promise<Commands["chat.react"]["result"]> {
    return this.#react(event, emoji, false);
  }

  unreact(event: number, emoji: string): Promise<Commands["chat.react"]["result"]> {
    return this.#react(event, emoji, true);
  }

  /**
   * Listens to changes to reactions while an iteration over the channel is running.
   * @param listener receives the whole event.
   * @returns a function that removes the listener.
   */
  onReaction(listener: (event: SentEvent) => unknown): () => void {
    return this.#client.on("chat.event.reaction", (event) =>
      event.channel === this.id ? listener(event) : undefined,
    );
  }

  /**
   * Marks the channel as read. At most one read mark is sent per second, for the last call. If the
   * server refuses the read mark, the error is passed to `onError`.
   * @param event the id of the last event that the user has read; defaults to the newest event
   * received.
   */
  markRead(event?: number): void {
    this.#parts.readMark.set(event);
  }

  /** Makes the user a member, who can send and react. */
  join(options: JoinOptions = {}): Promise<ChannelState> {
    return this.#parts.membership.join(options);
  }

  /** Makes the user a member, unless the user is already a member. Without a connection, the call waits. */
  ensureMember(): Promise<void> {
    return this.#parts.membership.ensure();
  }

  /** Ends the membership, or hides a direct channel. */
  async leave(): Promise<void> {
    await this.#parts.membership.leave();
    // The server has already ended the subscription.
    this.#parts.subscription.renew();
  }

  #react(event: number, reaction: string, remove: boolean) {
    const payload = { channel: this.id, event, reaction, delete: remove };
    return this.#client.call("chat.react", payload);
  }
}

const MAX_USERS = 10_000;

/** The fields that results and pushes of `chat.*` share. */
interface ChatFields {
  users?: Record<string, PublicUser>;
  members?: PublicUser[];
  sender?: PublicUser | string | null;
  next_event_id?: number;
  event?: SentEvent;
  results?: SentEvent[];
  events?: SentEvent[];
}

interface Entry extends ChannelParts {
  readonly channel: Channel;
  /** Whether the user may read the room's chat, as of the last check; undefined if this is not known yet. */
  isReadable: boolean | undefined;
}

/** The channels in use, and their shared state. */
export class Channels {
  readonly #client: Client;
  readonly #report: (error: unknown) => void;
  readonly #byId = new Map<string, Entry>();
  readonly #users = new KnownUsers(MAX_USERS);
  readonly #limiter = new RateLimiter();
  #lastId = 0;
  #ended: LiveError | undefined;

  /** @param report receives errors that no caller can handle. */
  constructor(client: Client, report: (error: unknown) => void) {
    this.#client = client;
    this.#report = report;
  }

  /** Returns the channel with the given id. Repeated calls return the same object. */
  get(id: string): Channel {
    const known = this.#byId.get(id);
    if (known) return known.channel;
    const client = this.#client;
    const report = (error: unknown) => {
      if (!this.#ended) this.#report(error);
    };
    const membership = new Membership(client, id, report);
    const lastId = () => this.#lastId;
    const delivery = new Delivery(client, id, lastId, this.#limiter, membership);
    const parts = {
      subscription: new Subscription(client, id, () => membership.isVolatile),
      membership,
      outbox: new Sender(client, delivery, this.#report),
      readMark: new ReadMark(client, id, report),
      users: this.#users,
    };
    const entry: Entry = {
      ...parts,
      channel: new Channel(client, id, parts),
      isReadable: isReadable(client.state, id) || undefined,
    };
    this.#byId.set(id, entry);
    if (this.#ended) end(entry, this.#ended);
    return entry.channel;
  }

  loggedIn({ limits }: Authenticated): void {
    this.#limiter.loggedIn(limits);
    for (const [id, entry] of this.#byId) {
      entry.isReadable = isReadable(this.#client.state, id) || undefined;
      void entry.membership.renew();
      entry.subscription.renew();
    }
  }

  disconnected(): void {
    for (const { membership, subscription } of this.#byId.values()) {
      membership.disconnected();
      subscription.disconnected();
    }
  }

  /** Applies the server's response to a command. */
  answered(name: string, result: unknown): void {
    if (name.startsWith("chat.")) this.#apply(result as ChatFields);
  }

  pushed(name: string, data: unknown): void {
    if (name.startsWith("chat.")) this.#apply(data as ChatFields);
    if (name === "chat.event") {
      const event = data as Pushes["chat.event"];
      this.#byId.get(event.channel)?.subscription.pushed(event);
    } else if (name === "room.delete") {
      const { id } = data as Pushes["room.delete"];
      const error = new LiveError("room.unknown", "The room was deleted.");
      this.#byId.get(id)?.subscription.end(error);
    } else if (isWorldPush(name)) this.#worldUpdated();
  }

  /** @param error the reason why the client ended. */
  end(error: LiveError): void {
    this.#ended = error;
    for (const entry of this.#byId.values()) end(entry, error);
  }

  /**
   * Resubscribes if the right to read has changed. An unknown right counts as changed, too: the
   * user may have subscribed to a room and lost the right before the client learned of the room.
   */
  #worldUpdated(): void {
    for (const [id, entry] of this.#byId) {
      const before = entry.isReadable;
      entry.isReadable = isReadable(this.#client.state, id);
      if (entry.isReadable !== before) entry.subscription.renew();
    }
  }

  #apply(data: ChatFields): void {
    const { users = {}, members = [], sender, next_event_id = 1 } = data;
    this.#users.add([...members, ...Object.values(users)]);
    if (typeof sender === "object" && sender) this.#users.add([sender]);
    this.#lastId = Math.max(this.#lastId, next_event_id - 1);
    const { results = [], events = [], event = data as SentEvent } = data;
    for (const each of [...results, ...events, event]) {
      const { event_id, channel } = each;
      if (event_id === undefined) continue;
      this.#lastId = Math.max(this.#lastId, event_id);
      const entry = this.#byId.get(channel);
      entry?.readMark.saw(event_id);
      entry?.outbox.saw(each);
    }
  }
}

/** Ends a channel's activity. If the application closed the client, the iterations end without an error. */
function end(entry: Entry, error: LiveError): void {
  const { subscription, membership, outbox, readMark } = entry;
  subscription.close(error.code === "client.closed" ? undefined : error);
  membership.disconnected();
  outbox.end(error);
  readMark.end();
}

/** Whether a room's chat is visible to the user; false for direct channels. */
function isReadable(state: LiveState | undefined, id: string): boolean {
  const room = state?.rooms.find((room) => room.id === id);
  return (
    room !== undefined &&
    room.permissions.includes("room:chat.read") &&
    room.modules.some(({ type }) => type === "chat.native")
  );
}

/**
 * The users that the server has sent along with chat events. The server sends each user only once
 * per connection, even if the user appears in several channels, so all channels of a client share
 * this collection.
 */
class KnownUsers {
  readonly #max: number;
  readonly #byId = new Map<string, PublicUser>();

  /** @param max the maximum number of users to keep. The users received last are kept. */
  constructor(max: number) {
    this.#max = max;
  }

  get all(): ReadonlyMap<string, PublicUser> {
    return this.#byId;
  }

  add(users: Iterable<PublicUser>): void {
    for (const user of users) {
      this.#byId.delete(user.id);
      this.#byId.set(user.id, user);
    }
    for (const id of this.#byId.keys()) {
      if (this.#byId.size <= this.#max) return;
      this.#byId.delete(id);
    }
  }
}

/** Minimum interval between two read marks sent to the server, in milliseconds. */
const READ_MARK_INTERVAL_MS = 1000;

/**
 * Sends a channel's read marks. The first read mark is sent immediately. After that, only the
 * latest read mark in each interval is sent.
 */
class ReadMark {
  readonly #client: Client;
  readonly #channel: string;
  readonly #report: (error: unknown) => void;
  #newest = 0;
  #next: number | undefined;
  #isBusy = false;
  #isOver = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param report receives the error if the server refuses a read mark. */
  constructor(client: Client, channel: string, report: (error: unknown) => void) {
    this.#client = client;
    this.#channel = channel;
    this.#report = report;
  }

  /** Records that the channel has an event with this id. */
  saw(id: number): void {
    this.#newest = Math.max(this.#newest, id);
  }

  /** @param id the id of the last event that the user has read; defaults to the newest event received. */
  set(id = this.#newest): void {
    if (id === 0) return;
    this.#next = id;
    if (!this.#isBusy) void this.#send();
  }

  end(): void {
    this.#isOver = true;
    this.#next = undefined;
    clearTimeout(this.#timer);
  }

  async #send(): Promise<void> {
    this.#isBusy = true;
    const channel = this.#channel;
    let id: number | undefined;
    const call = () => {
      id = this.#next ?? id;
      this.#next = undefined;
      return this.#client.call("chat.mark_read", { channel, id });
    };
    try {
      await persist(call, () => this.#isOver);
    } catch (error) {
      if (!this.#isOver) this.#report(error);
    }
    this.#timer = setTimeout(() => {
      this.#isBusy = false;
      if (this.#next !== undefined) void this.#send();
    }, READ_MARK_INTERVAL_MS);
    if (this.#isOver) clearTimeout(this.#timer);
  }
}
