import type { SentEvent } from "../../schemas/live/index.js";
import {
  decided,
  isInDoubt,
  isUnsent,
  persist,
  type Client,
} from "./client.js";
import { clientError, type LiveError } from "./error.js";
import type { CallOptions } from "./options.js";
import type { Pace } from "./pace.js";
import { eventsAfter, eventsBefore, NEWEST } from "./pages.js";

/** How many messages of a channel may wait. */
const MAX_WAITING = 200;

/** What a message says: its type, and what belongs to it. Other keys are kept. */
export type MessageContent = { readonly type: string } & Readonly<
  Record<string, unknown>
>;

/** A message on its way. It resolves to its event, as the server has stored it. */
export interface Message extends Promise<SentEvent> {
  /** Also `local_id` in the content of the event. */
  readonly localId: string;
  readonly content: MessageContent;
}

/** A message that waits for its turn, or for its answer. */
interface Draft {
  readonly content: MessageContent;
  /** The id of the event that it edits or deletes. */
  readonly replaces: number | undefined;
  readonly settle: (event: SentEvent) => void;
  readonly refuse: (error: Error) => void;
  /** Until when it must be confirmed, on the clock of `performance`. */
  readonly deadline: number | undefined;
  isOver: boolean;
}

/**
 * Sends the messages of a channel one after the other, as fast as the server takes them.
 * When the connection breaks before the answer, or the server doubts whether it stored the
 * message, it looks for the message in the channel before it sends it again.
 */
export class Outbox {
  readonly #client: Client;
  readonly #channel: string;
  readonly #lastId: () => number;
  readonly #pace: Pace;
  readonly #drafts: Draft[] = [];
  #isBusy = false;

  /**
   * @param lastId the highest id of any event of the server that is known; 0 if none is.
   * @param pace of all messages of the user.
   */
  constructor(
    client: Client,
    channel: string,
    lastId: () => number,
    pace: Pace,
  ) {
    this.#client = client;
    this.#channel = channel;
    this.#lastId = lastId;
    this.#pace = pace;
  }

  /** @param replaces the id of the event to edit or to delete. */
  add(
    content: MessageContent,
    replaces?: number,
    { timeout }: CallOptions = {},
  ): Message {
    const localId = randomId();
    // The caller may change the original.
    const copy = JSON.parse(
      JSON.stringify({ ...content, local_id: localId }),
    ) as MessageContent;
    const promise = new Promise<SentEvent>((resolve, reject) => {
      if (this.#drafts.length >= MAX_WAITING) {
        const message = `${MAX_WAITING} messages wait already.`;
        throw clientError("overloaded", message);
      }
      let timer: ReturnType<typeof setTimeout> | undefined;
      const over = () => {
        draft.isOver = true;
        clearTimeout(timer);
      };
      const draft: Draft = {
        content: copy,
        replaces,
        settle: (event) => (over(), resolve(event)),
        refuse: (error) => (over(), reject(error)),
        deadline: timeout && performance.now() + timeout,
        isOver: false,
      };
      const expire = () => {
        const message = `The message was not confirmed within ${timeout} ms.`;
        draft.refuse(clientError("timeout", message));
      };
      if (timeout !== undefined) timer = setTimeout(expire, timeout);
      this.#drafts.push(draft);
    });
    void this.#run();
    return Object.assign(promise, { localId, content: copy });
  }

  /** Rejects all messages. */
  end(error: LiveError): void {
    for (const draft of this.#drafts) draft.refuse(error);
  }

  async #run(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (let draft = this.#drafts[0]; draft; draft = this.#drafts[0]) {
      try {
        if (!draft.isOver) draft.settle(await this.#deliver(draft));
      } catch (error) {
        draft.refuse(error as Error);
      }
      this.#drafts.shift();
    }
    this.#isBusy = false;
  }

  async #deliver(draft: Draft): Promise<SentEvent> {
    const { content, replaces } = draft;
    const isOver = () => draft.isOver;
    const payload = {
      channel: this.#channel,
      event_type: "channel.message",
      content,
      ...(replaces !== undefined && { replaces }),
    };
    const before = await this.#newest(isOver);
    const send = async () => {
      if (!isOver()) await this.#pace.turn();
      // Nobody learns of this error.
      if (isOver()) throw clientError("timeout", "Too late.");
      return this.#client.call("chat.send", payload, timeLeft(draft));
    };
    const isRepeated = (error: LiveError) => {
      const isTooMany = error.code === "protocol.rate_limited";
      if (isTooMany) this.#pace.refused();
      return isTooMany || isUnsent(error);
    };
    for (;;) {
      try {
        const { event } = await persist(send, isOver, isRepeated);
        return event;
      } catch (cause) {
        const error = cause as LiveError;
        if (isOver() || !isInDoubt(error) || before === undefined) throw error;
        await decided(error);
        const event = await this.#find(draft, before, error);
        if (event) return event;
        if (isOver()) throw error;
      }
    }
  }

  /** The id of an event that is older than the next message; undefined if nobody may know. */
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
   * Looks for a message that may have arrived. The server has executed what came before
   * on the same connection, or was lost with an earlier one.
   * @param before the id of an event before it.
   * @param doubt why nobody knows, thrown if nobody can know.
   */
  async #find(
    draft: Draft,
    before: number,
    doubt: LiveError,
  ): Promise<SentEvent | undefined> {
    let isUnclear = false;
    for (let after = before; ;) {
      const { events, isLast } = await eventsAfter(
        this.#client,
        this.#channel,
        after,
        () => draft.isOver,
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

const timeLeft = ({ deadline }: Draft): CallOptions =>
  deadline === undefined
    ? {}
    : { timeout: Math.max(0, deadline - performance.now()) };

const isDeletion = ({ content }: Pick<Draft, "content">): boolean =>
  content.type === "deleted";

/** The server keeps nothing of the content of a deletion. */
const isEventOf = (draft: Draft, event: SentEvent): boolean =>
  isDeletion(draft)
    ? event.replaces === draft.replaces && event.content.type === "deleted"
    : isSameKind(draft, event) &&
      event.content.local_id === draft.content.local_id;

/** An edit keeps the `local_id` neither of the message nor of another edit. */
const isChanged = (draft: Draft, event: SentEvent): boolean =>
  !isDeletion(draft) &&
  isSameKind(draft, event) &&
  (event.edited !== null || event.content.type === "deleted");

/** An edit of an edit replaces the message, so the ids may differ. */
const isSameKind = ({ replaces }: Draft, event: SentEvent): boolean =>
  (replaces === undefined) === (event.replaces === null);

/** Browsers offer `crypto.randomUUID` to secure pages only. */
const randomId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
