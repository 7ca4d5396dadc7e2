import type { SentEvent } from "../../schemas/live/index.js";
import { decided, isInDoubt, isUnsent, persist, type Client } from "./client.js";
import { clientError, type LiveError } from "./error.js";
import type { Membership } from "./membership.js";
import type { CallOptions } from "./options.js";
import type { Pace } from "./pace.js";
import { eventsAfter, eventsBefore, NEWEST } from "./pages.js";

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
  readonly #pace: Pace;
  readonly #membership: Membership;

  /**
   * @param lastId the highest id of any event of the server that is known; 0 if none is.
   * @param pace of all messages of the user.
   */
  constructor(
    client: Client,
    channel: string,
    lastId: () => number,
    pace: Pace,
    membership: Membership,
  ) {
    this.#client = client;
    this.#channel = channel;
    this.#lastId = lastId;
    this.#pace = pace;
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
      if (!isOver()) await this.#pace.turn();
      if (isOver()) throw clientError("canceled", "The message was canceled.");
      draft.after = before;
      draft.attempt(true);
      return this.#client.call("chat.send", payload, timeLeft());
    };
    const isRepeated = (error: LiveError) => {
      const isTooMany = error.code === "protocol.rate_limited";
      if (isTooMany) this.#pace.refused();
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
export const stamped = (
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
export const isEventOf = (draft: Kind, event: SentEvent): boolean =>
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
