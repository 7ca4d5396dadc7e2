import type { SentEvent } from "../../schemas/live/index.js";
import { isInDoubt, type Client } from "./client.js";
import {
  isEventOf,
  stamped,
  type Draft,
  type MessageContent,
} from "./delivery.js";
import { clientError, type LiveError } from "./error.js";
import { Listeners } from "./events.js";
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

/**
 * The unconfirmed messages of a page to a channel. A message that cannot be sent stays until
 * the user decides.
 */
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
   * Sends a message after all earlier ones. The user becomes a member if need be.
   * @param content a text, or the content of a message of any type.
   */
  post(content: string | MessageContent): WaitingMessage;

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

/** The messages of an {@link Outbox}. */
export class Posts implements Outbox {
  readonly #client: Client;
  readonly #send: (post: Draft) => Promise<SentEvent>;
  readonly #listeners: Listeners;
  #posts: readonly Post[] = [];
  #messages: readonly WaitingMessage[] = [];

  /**
   * @param send brings a message to the server, after all earlier ones.
   * @param report takes the errors of listeners.
   */
  constructor(
    client: Client,
    send: (post: Draft) => Promise<SentEvent>,
    report: (error: unknown) => void,
  ) {
    this.#client = client;
    this.#send = send;
    this.#listeners = new Listeners(report);
  }

  get messages(): readonly WaitingMessage[] {
    return this.#messages;
  }

  onChange(listener: (sent: SentEvent | undefined) => unknown): () => void {
    return this.#listeners.add(
      "change",
      listener as (sent: unknown) => unknown,
    );
  }

  post(content: string | MessageContent): WaitingMessage {
    const post = this.#postOf(stamped(content));
    this.#add(post);
    return messageOf(post);
  }

  retry(localId: string): void {
    const post = this.#find(localId);
    if (!post?.error) return;
    // A refused message did not arrive; events may have come meanwhile.
    if (!post.doubt) post.after = undefined;
    post.error = undefined;
    this.#add(post);
  }

  cancel(localId: string): WaitingMessage | undefined {
    const message = this.#messages.find((it) => it.localId === localId);
    this.#remove(this.#find(localId));
    return message;
  }

  restore(
    messages: readonly Pick<WaitingMessage, "content" | "after">[],
  ): void {
    for (const { content, after } of messages) {
      const localId = content["local_id"] as string | undefined;
      const post = this.#postOf(stamped(content, localId), after);
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

  #postOf(
    content: MessageContent & { readonly local_id: string },
    after?: number,
  ): Post {
    const post: Post = {
      localId: content.local_id,
      content,
      after,
      joins: true,
      isUnderWay: false,
      isOver: () => post.error !== undefined || !this.#posts.includes(post),
      attempt: (isUnderWay) => {
        post.isUnderWay = isUnderWay;
        this.#changed();
      },
    };
    return post;
  }

  /** Puts a message at the end of the list, and sends it. */
  #add(post: Post): void {
    this.#posts = [...this.#posts.filter((it) => it !== post), post];
    this.#changed();
    this.#send(post).then(
      (event) => this.#remove(post, event),
      (error: LiveError) => this.#fail(post, error),
    );
  }

  #fail(post: Post, error: LiveError): void {
    // A page that closes keeps unsent messages.
    if (post.isOver() || error.code === "client.closed") return;
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

const messageOf = ({
  localId,
  content,
  isUnderWay,
  error,
  after,
}: Post): WaitingMessage => ({
  localId,
  content,
  state: error ? "failed" : isUnderWay ? "sending" : "waiting",
  ...(error && { error }),
  ...(after !== undefined && { after }),
});
