import type { SentEvent } from "../../schemas/live/index.js";
import {
  type CallOptions,
  type Client,
  clientError,
  waitForOutcome,
  isInDoubt,
  isUnsent,
  Listeners,
  type LiveError,
  persist,
} from "./client.js";
import { TaskQueue, type RateLimiter } from "./queue.js";
import { eventsAfter, eventsBefore, type Membership, NEWEST, plainEvent } from "./subscription.js";

/** A message that the server has not confirmed yet. All fields except `error` are plain data. */
export interface WaitingMessage {
  /** The `local_id` in the content. A resent message keeps its id. */
  readonly localId: string;
  readonly content: MessageContent;
  /**
   * - `waiting`: the message waits for earlier messages, or for a connection.
   * - `sending`: the message waits for the server's response.
   * - `failed`: the message was not confirmed, and stays in this state until `retry` or `cancel`.
   */
  readonly state: "waiting" | "sending" | "failed";
  /** The reason for the failure. */
  readonly error?: LiveError;
  /**
   * The id of an event that precedes the message, set when the message is first sent. To find out
   * whether the message arrived, the client searches the events after this id.
   */
  readonly after?: number;
}

/** Options for sending a message. */
export interface SendOptions extends CallOptions {
  /**
   * For pages: makes the user a member if necessary, and keeps the message in `channel.outbox`
   * until the server confirms it. After a failure, the message stays in the outbox until `retry` or
   * `cancel`.
   */
  keep?: boolean;
}

/**
 * A message being sent. The promise resolves to the message's event, as stored by the server, or to
 * undefined if the message waits for a moderator.
 */
export interface Message extends Promise<SentEvent | undefined> {
  /** The `local_id` in the event's content. */
  readonly localId: string;
  readonly content: MessageContent;
}

/** A page's unconfirmed messages to a channel, which were sent with `keep`. */
export interface Outbox {
  /** In sending order. A new array after each change. */
  readonly messages: readonly WaitingMessage[];

  /**
   * Listens to changes to `messages`.
   * @param listener receives the event of a message that has arrived and is therefore no longer in
   * `messages`.
   * @returns a function that removes the listener.
   */
  onChange(listener: (sent: SentEvent | undefined) => unknown): () => void;

  /**
   * Resends a failed message. If the message may already have arrived, the client first looks for
   * it in the channel.
   */
  retry(localId: string): void;

  /**
   * Cancels a message. A message that is already being sent may still arrive.
   * @returns the message; undefined if it is not in the list.
   */
  cancel(localId: string): WaitingMessage | undefined;

  /**
   * Restores the `messages` from an earlier visit, as failed with `client.unconfirmed`, so that the
   * user can retry or cancel each message. A message that did arrive leaves the list when the
   * client receives its event.
   */
  restore(messages: readonly Pick<WaitingMessage, "content" | "after">[]): void;
}

interface Post extends Draft {
  readonly localId: string;
  isUnderWay: boolean;
  error?: LiveError | undefined;
}

/** Sends a channel's messages sequentially, and maintains a page's list of unconfirmed messages. */
export class Sender implements Outbox {
  readonly #client: Client;
  readonly #delivery: Delivery;
  readonly #queue = new TaskQueue();
  readonly #listeners: Listeners;
  #posts: readonly Post[] = [];
  #messages: readonly WaitingMessage[] = [];

  /** @param report receives the errors that listeners throw. */
  constructor(client: Client, delivery: Delivery, report: (error: unknown) => void) {
    this.#client = client;
    this.#delivery = delivery;
    this.#listeners = new Listeners(report);
  }

  get messages(): readonly WaitingMessage[] {
    return this.#messages;
  }

  onChange(listener: (sent: SentEvent | undefined) => unknown): () => void {
    return this.#listeners.add("change", listener as (sent: unknown) => unknown);
  }

  /**
   * Sends a message after all earlier messages. Without a connection, the message waits.
   * @param given plain text, or the content of a message of any type.
   * @param replaces the id of the event to edit or delete.
   */
  send(
    given: string | MessageContent,
    replaces: number | undefined,
    { keep = false, ...options }: SendOptions = {},
  ): Message {
    const post = this.#postOf(stamped(given), { replaces, joins: keep });
    const sent = keep ? this.#keep(post, options) : this.#add(post, options);
    return Object.assign(sent, { localId: post.localId, content: post.content });
  }

  retry(localId: string): void {
    const post = this.#find(localId);
    if (!post?.error) return;
    // A refused message did not arrive, but other events may have arrived, so `after` is stale.
    if (!post.doubt) post.after = undefined;
    post.error = undefined;
    void this.#keep(post);
  }

  cancel(localId: string): WaitingMessage | undefined {
    const message = this.#messages.find((it) => it.localId === localId);
    this.#remove(this.#find(localId));
    return message;
  }

  restore(messages: readonly Pick<WaitingMessage, "content" | "after">[]): void {
    for (const { content, after } of messages) {
      const localId = content["local_id"] as string | undefined;
      const post = this.#postOf(stamped(content, localId), { after, joins: true });
      if (this.#find(post.localId)) continue;
      this.#posts = [...this.#posts, post];
      const message = "An earlier visit ended before it was confirmed.";
      this.#fail(post, clientError("unconfirmed", message));
    }
  }

  /** Removes a message whose event has arrived in the channel. */
  saw(event: SentEvent): void {
    if (event.sender !== this.#client.state?.user.id) return;
    this.#remove(
      this.#posts.find((post) => isEventOf(post, event)),
      event,
    );
  }

  #find(localId: string): Post | undefined {
    return this.#posts.find((post) => post.localId === localId);
  }

  /** Rejects all queued messages. */
  end(error: LiveError): void {
    this.#queue.end(error);
  }

  #postOf(
    content: MessageContent & { readonly local_id: string },
    rest: Pick<Draft, "replaces" | "joins" | "after">,
  ): Post {
    const post: Post = {
      ...rest,
      localId: content.local_id,
      content,
      isUnderWay: false,
      attempt: (isUnderWay) => {
        post.isUnderWay = isUnderWay;
        if (this.#posts.includes(post)) this.#changed();
      },
    };
    return post;
  }

  /** Appends a message to the list, and sends it. */
  #keep(post: Post, options?: CallOptions): Promise<SentEvent | undefined> {
    this.#posts = [...this.#posts.filter((it) => it !== post), post];
    this.#changed();
    const sent = this.#add(post, options, () => !post.error && this.#posts.includes(post));
    sent.then(
      (event) => this.#remove(post, event),
      (error: LiveError) => this.#fail(post, error),
    );
    return sent;
  }

  /** @param isWanted returns false once the author has canceled the message. */
  #add(post: Post, options?: CallOptions, isWanted = () => true): Promise<SentEvent | undefined> {
    return this.#queue.add((isOver, timeLeft) => {
      const limits = { isOver: () => isOver() || !isWanted(), timeLeft };
      return this.#delivery.deliver(post, limits);
    }, options);
  }

  #fail(post: Post, error: LiveError): void {
    // When a page is closed, its unsent messages are kept.
    if (post.error || !this.#posts.includes(post) || error.code === "client.closed") return;
    post.isUnderWay = false;
    post.error = error;
    post.doubt = isInDoubt(error) ? error : undefined;
    this.#changed();
  }

  #remove(post: Post | undefined, sent?: SentEvent): void {
    if (!post || !this.#posts.includes(post)) return;
    this.#posts = this.#posts.filter((it) => it !== post);
    this.#changed(sent && plainEvent(sent));
  }

  #changed(sent?: SentEvent): void {
    this.#messages = this.#posts.map(messageOf);
    this.#listeners.emit("change", sent);
  }
}

const messageOf = ({ localId, content, isUnderWay, error, after }: Post): WaitingMessage => ({
  localId,
  content,
  state: error ? "failed" : isUnderWay ? "sending" : "waiting",
  ...(error && { error }),
  ...(after !== undefined && { after }),
});

/** A message's content: its type, and the fields of that type. Unknown keys are preserved. */
export type MessageContent = { readonly type: string } & Readonly<Record<string, unknown>>;

/** A message to be delivered to the server. */
export interface Draft {
  readonly content: MessageContent;
  /** The id of the event to edit or delete. */
  readonly replaces?: number | undefined;
  /** Whether to make the user a member of the channel first. */
  readonly joins?: boolean;
  /** The id of an event that precedes the first attempt to send the message; undefined before that attempt. */
  after?: number | undefined;
  /** The error of a failed attempt, if the message may have arrived anyway. */
  doubt?: LiveError | undefined;
  /** Called with true when an attempt begins, and with false when the message has to wait again. */
  attempt(isUnderWay: boolean): void;
}

/** Limits on a delivery. */
interface Limits {
  /** Whether the author has given up. */
  readonly isOver: () => boolean;
  /** Returns the timeout for a call made now. */
  readonly timeLeft: () => CallOptions;
}

/**
 * Delivers messages to the server, each exactly once. If the connection breaks before the response,
 * or if the server does not know whether it stored the message, the client looks for the message in
 * the channel before resending it.
 */
export class Delivery {
  readonly #client: Client;
  readonly #channel: string;
  readonly #lastId: () => number;
  readonly #limiter: RateLimiter;
  readonly #membership: Membership;

  /**
   * @param lastId returns the server's highest known event id; 0 if none is known.
   * @param limiter shared by all of the user's channels.
   */
  constructor(
    client: Client,
    channel: string,
    lastId: () => number,
    limiter: RateLimiter,
    membership: Membership,
  ) {
    this.#client = client;
    this.#channel = channel;
    this.#lastId = lastId;
    this.#limiter = limiter;
    this.#membership = membership;
  }

  /**
   * Delivers a message. Without a connection, the message waits.
   * @returns the message's event; undefined if the message waits for a moderator.
   */
  async deliver(draft: Draft, { isOver, timeLeft }: Limits): Promise<SentEvent | undefined> {
    if (draft.doubt) {
      // If the doubt remains, the message is resent: the user asked for a retry in spite of the
      // doubt.
      const found = await this.#find(draft, draft.doubt, isOver).catch(() => undefined);
      if (found) return found.event;
      draft.doubt = undefined;
    }
    const before = draft.after ?? (await this.#newest(isOver));
    const payload = {
      channel: this.#channel,
      event_type: "channel.message",
      content: draft.content,
      ...(draft.replaces !== undefined && { replaces: draft.replaces }),
    };
    const attempt = async () => {
      if (draft.joins) await this.#membership.ensure();
      if (!isOver()) await this.#limiter.acquire();
      if (isOver()) throw clientError("canceled", "The message was canceled.");
      draft.after = before;
      draft.attempt(true);
      return this.#client.call("chat.send", payload, timeLeft());
    };
    const isRepeated = (error: LiveError) => {
      const isTooMany = error.code === "protocol.rate_limited";
      if (isTooMany) this.#limiter.drain();
      const isAgain = isTooMany || isUnsent(error);
      if (isAgain) draft.attempt(false);
      return isAgain;
    };
    for (let hasJoined = false; ;) {
      try {
        const { event } = await persist(attempt, isOver, isRepeated);
        return event;
      } catch (cause) {
        const error = cause as LiveError;
        const isDenied = error.code === "chat.denied" && draft.joins;
        if (isDenied && !hasJoined && this.#membership.lost()) {
          hasJoined = true;
          continue;
        }
        if (isOver() || !isInDoubt(error)) throw error;
        await waitForOutcome(error);
        const found = await this.#find(draft, error, isOver);
        if (found) return found.event;
        if (isOver()) throw error;
      }
    }
  }

  /** Returns the id of an event that precedes the next message; undefined if the channel cannot be read. */
  async #newest(isOver: () => boolean): Promise<number | undefined> {
    const known = this.#lastId();
    if (known > 0) return known;
    const fetch = () => eventsBefore(this.#client, this.#channel, NEWEST, 1);
    return persist(fetch, isOver).then(
      ([event]) => event?.event_id ?? 0,
      () => undefined,
    );
  }

  /**
   * Looks for a message that may have arrived. By now, the server has executed all earlier calls on
   * this connection. A call that an earlier connection did not deliver counts as lost.
   * @param doubt the error to throw if it remains unclear whether the message arrived.
   * @returns the message, without an event if it waits for a moderator; undefined if it has not
   * arrived.
   */
  async #find(
    draft: Draft,
    doubt: LiveError,
    isOver: () => boolean,
  ): Promise<{ event: SentEvent | undefined } | undefined> {
    if (draft.after === undefined) throw doubt;
    // Before the events: once a message is approved, it is among them.
    if (await this.#isHeld(draft, doubt, isOver)) return { event: undefined };
    let isUnclear = false;
    for (let after = draft.after; ;) {
      const { events, isLast } = await eventsAfter(
        this.#client,
        this.#channel,
        after,
        isOver,
      ).catch(() => {
        throw doubt;
      });
      for (const event of events) {
        if (event.sender !== this.#client.state?.user.id) continue;
        if (isEventOf(draft, event)) return { event };
        isUnclear ||= isChanged(draft, event);
      }
      after = events.at(-1)?.event_id ?? after;
      if (isLast) break;
    }
    if (isUnclear) throw doubt;
    return undefined;
  }

  /** Whether a message waits for a moderator, which the server knows only of rooms. */
  async #isHeld({ content }: Draft, doubt: LiveError, isOver: () => boolean): Promise<boolean> {
    const list = () => this.#client.call("chat.held.list", { channel: this.#channel });
    const { results } = await persist(list, isOver).catch((error: LiveError) => {
      if (isInDoubt(error) || isOver()) throw doubt;
      return { results: [] };
    });
    return results.some((held) => held.content["local_id"] === content["local_id"]);
  }
}

/** Copies a message's content, because the caller may mutate the original, and adds the message's `local_id`. */
const stamped = (
  content: string | MessageContent,
  localId = randomId(),
): MessageContent & { readonly local_id: string } => {
  const whole = typeof content === "string" ? { type: "text", body: content } : content;
  const json = JSON.stringify({ ...whole, local_id: localId });
  return JSON.parse(json) as MessageContent & { local_id: string };
};

/** Browsers provide `crypto.randomUUID` only in secure contexts. */
const randomId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");

type Kind = Pick<Draft, "content" | "replaces">;

const isDeletion = ({ content }: Kind): boolean => content.type === "deleted";

/**
 * Whether one of the user's events is the event of the given message. The event of a deletion has
 * no `local_id`, because the server keeps none of the content.
 */
const isEventOf = (draft: Kind, event: SentEvent): boolean =>
  isDeletion(draft)
    ? event.replaces === draft.replaces && event.content.type === "deleted"
    : isSameKind(draft, event) && event.content.local_id === draft.content.local_id;

/**
 * Whether an event may have been the given message until it was edited: an edit overwrites the
 * `local_id` of the message, and of any earlier edit.
 */
const isChanged = (draft: Kind, event: SentEvent): boolean =>
  !isDeletion(draft) &&
  isSameKind(draft, event) &&
  (event.edited !== null || event.content.type === "deleted");

/**
 * Compares only whether the message and the event are edits. An edit of an edit replaces the
 * original message, so the ids may differ.
 */
const isSameKind = ({ replaces }: Kind, event: SentEvent): boolean =>
  (replaces === undefined) === (event.replaces === null);
