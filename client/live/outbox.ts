import type { SentEvent } from "../../schemas/live/index.js";
import { isInDoubt, type Client } from "./client.js";
import { type Delivery, isEventOf, stamped, type Draft, type MessageContent } from "./delivery.js";
import { clientError, type LiveError } from "./error.js";
import { Listeners } from "./events.js";
import { Line } from "./line.js";
import type { CallOptions } from "./options.js";
import { plainEvent } from "./pages.js";

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
  readonly #line = new Line();
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
    this.#line.end(error);
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
    return this.#line.add((isOver, timeLeft) => {
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
