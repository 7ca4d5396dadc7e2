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
import { isOfWorld, type LiveState } from "./state.js";
import {
  eventsBefore,
  type JoinOptions,
  Membership,
  NEWEST,
  plainEvent,
  Subscription,
} from "./subscription.js";

/** Which part of the history is read. */
export interface HistoryOptions {
  /** Only events before this id. Default: all. */
  before?: number;
  /** How many events, 1 to 1,000. Default: 25. */
  count?: number;
}

/** The work behind a {@link Channel}. */
interface ChannelParts {
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

  /** New events from now on. */
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
   * @param listener receives the whole event.
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
  /** Whether the user could read it, when last seen; undefined if it was not known yet. */
  isReadable: boolean | undefined;
}

/** The channels in use, and the client's state of all chats. */
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

  /** @returns the same object for the same id. */
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

  /** Applies the server's answer to a command. */
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
    } else if (isOfWorld(name)) this.#worldUpdated();
  }

  /** @param error why the client ended. */
  end(error: LiveError): void {
    this.#ended = error;
    for (const entry of this.#byId.values()) end(entry, error);
  }

  /**
   * Subscribes again if the right to read changed. The user may also have subscribed to a
   * room, and lost the right, before the client received the room.
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

/** Ends the work of a channel, without an error if the program closed the client. */
function end(entry: Entry, error: LiveError): void {
  const { subscription, membership, outbox, readMark } = entry;
  subscription.close(error.code === "client.closed" ? undefined : error);
  membership.disconnected();
  outbox.end(error);
  readMark.end();
}

/** Whether a room shows its chat to the user; false for direct channels. */
function isReadable(state: LiveState | undefined, id: string): boolean {
  const room = state?.rooms.find((room) => room.id === id);
  return (
    room !== undefined &&
    room.permissions.includes("room:chat.read") &&
    room.modules.some(({ type }) => type === "chat.native")
  );
}

/**
 * The users that a server sent with chats. It sends each user once to a connection, for all
 * channels together, so all channels of a client share them.
 */
class KnownUsers {
  readonly #max: number;
  readonly #byId = new Map<string, PublicUser>();

  /** @param max how many are kept: the last ones sent. */
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

/** The shortest pause between two read marks to the server, in milliseconds. */
const READ_MARK_INTERVAL_MS = 1000;

/** Sends read marks of a channel: the first at once, then at most the latest one per interval. */
class ReadMark {
  readonly #client: Client;
  readonly #channel: string;
  readonly #report: (error: unknown) => void;
  #newest = 0;
  #next: number | undefined;
  #isBusy = false;
  #isOver = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param report receives the refusal of the server. */
  constructor(client: Client, channel: string, report: (error: unknown) => void) {
    this.#client = client;
    this.#channel = channel;
    this.#report = report;
  }

  /** Remembers the newest event of the channel. */
  saw(id: number): void {
    this.#newest = Math.max(this.#newest, id);
  }

  /** @param id the event up to which all is read; the newest one seen by default. */
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
