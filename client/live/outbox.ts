import type { SentEvent } from "../../schemas/live/index.js";
import {
  type CallOptions,
  type Client,
  clientError,
  decided,
  isInDoubt,
  isUnsent,
  Listeners,
  type LiveError,
  persist,
} from "./client.js";
import { TaskQueue, type RateLimiter } from "./queue.js";
import { eventsAfter, eventsBefore, type Membership, NEWEST, plainEvent } from "./subscription.js";

/** A message that the server has not confirmed. It is plain data, but for `error`. */
export interface WaitingMessage {
  /** Also `local_id` in the content. It stays when the message is sent again. */
  readonly localId: string;
  readonly content: MessageContent;
  /**
   * - `waiting`: for its turn, or for a connection.
   * - `sending`: for the answer of the server.
   * - `failed`: for `retry` or `cancel`.
   */
  readonly state: "waiting" | "sending" | "failed";
  /** Why it failed. */
  readonly error?: LiveError;
  /**
   * The id of an event before it, once it was sent: the client looks for the message among
   * later ones.
   */
  readonly after?: number;
}

/** How a message is sent. */
export interface SendOptions extends CallOptions {
  /**
   * For pages: the user becomes a member if need be, and the message is in `channel.outbox` until
   * the server confirms it. If it fails, it stays there until `retry` or `cancel`.
   */
  keep?: boolean;
}

/** A message on its way. It resolves to its event, as the server has stored it. */
export interface Message extends Promise<SentEvent> {
  /** Also `local_id` in the content of the event. */
  readonly localId: string;
  readonly content: MessageContent;
}

/** The unconfirmed messages of a page to a channel: those sent with `keep`. */
export interface Outbox {
  /** In the order of sending. A new list after each change. */
  readonly messages: readonly WaitingMessage[];

  /**
   * Listens to changes of `messages`.
   * @param listener gets the event of a message that arrived, which `messages` no longer has.
   * @returns ends it.
   */
  onChange(listener: (sent: SentEvent | undefined) => unknown): () => void;

  /**
   * Sends a message that failed once more. If the message may have arrived, the client looks
   * for it first.
   */
  retry(localId: string): void;

  /**
   * Gives up a message. One that is being sent may arrive nevertheless.
   * @returns the message; undefined if it is not in the list.
   */
  cancel(localId: string): WaitingMessage | undefined;

  /**
   * Takes the `messages` of an earlier visit as failed with `client.unconfirmed`: the user
   * decides about them. A message that arrived leaves the list when the client gets its
   * event.
   */
  restore(messages: readonly Pick<WaitingMessage, "content" | "after">[]): void;
}

interface Post extends Draft {
  readonly localId: string;
  isUnderWay: boolean;
  error?: LiveError | undefined;
}

/** Sends the messages of a channel one after the other, and keeps the list of a page's messages. */
export class Sender implements Outbox {
  readonly #client: Client;
  readonly #delivery: Delivery;
  readonly #queue = new TaskQueue();
  readonly #listeners: Listeners;
  #posts: readonly Post[] = [];
  #messages: readonly WaitingMessage[] = [];

  /** @param report takes the errors of listeners. */
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
   * Sends a message after all earlier ones. It waits for connections.
   * @param given a text, or the content of a message of any type.
   * @param replaces the id of the event that it edits or deletes.
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
    // A refused message did not arrive; events may have come meanwhile.
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

  /** Takes note of an event of the channel. */
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

  /** Rejects what waits. */
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

  /** Puts a message at the end of the list, and sends it. */
  #keep(post: Post, options?: CallOptions): Promise<SentEvent> {
    this.#posts = [...this.#posts.filter((it) => it !== post), post];
    this.#changed();
    const sent = this.#add(post, options, () => !post.error && this.#posts.includes(post));
    sent.then(
      (event) => this.#remove(post, event),
      (error: LiveError) => this.#fail(post, error),
    );
    return sent;
  }

  /** @param isWanted whether its author has not given it up. */
  #add(post: Post, options?: CallOptions, isWanted = () => true): Promise<SentEvent> {
    return this.#queue.add((isOver, timeLeft) => {
      const limits = { isOver: () => isOver() || !isWanted(), timeLeft };
      return this.#delivery.deliver(post, limits);
    }, options);
  }

  #fail(post: Post, error: LiveError): void {
    // A page that closes keeps unsent messages.
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

/** The content of a message: its type, and the fields of that type. Other keys are kept. */
export type MessageContent = { readonly type: string } & Readonly<Record<string, unknown>>;

/** A message on its way to the server. */
export interface Draft {
  readonly content: MessageContent;
  /** The id of the event that it edits or deletes. */
  readonly replaces?: number | undefined;
  /** Whether the user becomes a member of the channel for it. */
  readonly joins?: boolean;
  /** The id of an event before the first attempt to send it; undefined before that. */
  after?: number | undefined;
  /** Why an attempt that was given up may have arrived. */
  doubt?: LiveError | undefined;
  /** An attempt begins, or has to wait once more. */
  attempt(isUnderWay: boolean): void;
}

/** How long a message is wanted. */
interface Limits {
  /** Whether its author has given it up. */
  readonly isOver: () => boolean;
  /** The time limit for a call that is made now. */
  readonly timeLeft: () => CallOptions;
}

/**
 * Brings messages to the server, each exactly once. When the connection breaks before the
 * answer, or the server doubts whether it stored the message, it looks for the message in
 * the channel before it sends it again.
 */
export class Delivery {
  readonly #client: Client;
  readonly #channel: string;
  readonly #lastId: () => number;
  readonly #limiter: RateLimiter;
  readonly #membership: Membership;

  /**
   * @param lastId the highest id of any event of the server that is known; 0 if none is.
   * @param limiter shared by all channels of the user.
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
   * Waits for connections.
   * @returns the event of the message.
   */
  async deliver(draft: Draft, { isOver, timeLeft }: Limits): Promise<SentEvent> {
    if (draft.doubt) {
      // A message in doubt is sent again: the user asked for that and knows the doubt.
      const event = await this.#find(draft, draft.doubt, isOver).catch(() => undefined);
      if (event) return event;
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
        await decided(error);
        const event = await this.#find(draft, error, isOver);
        if (event) return event;
        if (isOver()) throw error;
      }
    }
  }

  /** The id of an event that is older than the next message; undefined if it cannot be read. */
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
   * Looks for a message that may have arrived. The server has executed all earlier calls of
   * this connection; a call that an earlier connection did not deliver counts as lost.
   * @param doubt why it may have arrived, thrown if that stays unknown.
   */
  async #find(
    draft: Draft,
    doubt: LiveError,
    isOver: () => boolean,
  ): Promise<SentEvent | undefined> {
    if (draft.after === undefined) throw doubt;
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
        if (isEventOf(draft, event)) return event;
        isUnclear ||= isChanged(draft, event);
      }
      after = events.at(-1)?.event_id ?? after;
      if (isLast) break;
    }
    if (isUnclear) throw doubt;
    return undefined;
  }
}

/** A copy of a content, which the caller may change, with the key of its message. */
const stamped = (
  content: string | MessageContent,
  localId = randomId(),
): MessageContent & { readonly local_id: string } => {
  const whole = typeof content === "string" ? { type: "text", body: content } : content;
  const json = JSON.stringify({ ...whole, local_id: localId });
  return JSON.parse(json) as MessageContent & { local_id: string };
};

/** Browsers offer `crypto.randomUUID` to secure pages only. */
const randomId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");

type Kind = Pick<Draft, "content" | "replaces">;

const isDeletion = ({ content }: Kind): boolean => content.type === "deleted";

/**
 * Whether an event of the user is the one of a message. The server keeps nothing of the
 * content of a deletion.
 */
const isEventOf = (draft: Kind, event: SentEvent): boolean =>
  isDeletion(draft)
    ? event.replaces === draft.replaces && event.content.type === "deleted"
    : isSameKind(draft, event) && event.content.local_id === draft.content.local_id;

/** An edit keeps the `local_id` neither of the message nor of another edit. */
const isChanged = (draft: Kind, event: SentEvent): boolean =>
  !isDeletion(draft) &&
  isSameKind(draft, event) &&
  (event.edited !== null || event.content.type === "deleted");

/** An edit of an edit replaces the message, so the ids may differ. */
const isSameKind = ({ replaces }: Kind, event: SentEvent): boolean =>
  (replaces === undefined) === (event.replaces === null);
