import type { Author } from "../../contract/author.js";
import type { ChatEvent, ChatDelivery } from "../../contract/chat-store.js";
import { chatEntry } from "../../log/entries.js";
import type { HintMessage, SnapshotMessage } from "../bus.js";
import type { BusPayload } from "../shapes.js";

/** Size at which a channel's messages are sent immediately, in characters. */
const FULL = 256 * 1024;

/** Maximum data in flight to Valkey, in bytes. Messages that would exceed the limit are dropped. */
const MAX_UNSENT = 8 * 1024 * 1024;

/**
 * Sends a JSON array of messages through a channel.
 * @returns a promise that settles once Valkey has received the messages or the send has failed;
 * undefined if there is no connection.
 */
type Send = (channel: string, body: string) => Promise<unknown> | undefined;

/** Messages waiting for the end of the current turn of the event loop. */
interface Due {
  readonly messages: string[];
  /** The total length of the messages, in characters. */
  size: number;
}

/** Batches the messages published in one turn of the event loop: sends one Valkey message per channel. */
export class Outbox {
  readonly #send: Send;
  readonly #due = new Map<string, Due>();
  #turn: NodeJS.Immediate | undefined;
  #unsent = 0;

  constructor(send: Send) {
    this.#send = send;
  }

  add(channel: string, message: SnapshotMessage | HintMessage): void {
    const json = JSON.stringify(encodeMessage(message));
    let due = this.#due.get(channel);
    if (!due) this.#due.set(channel, (due = { messages: [], size: 0 }));
    due.messages.push(json);
    due.size += json.length;
    if (due.size >= FULL) this.#flushOne(channel, due);
    else this.#turn ??= setImmediate(() => this.flush());
  }

  flush(): void {
    clearImmediate(this.#turn);
    this.#turn = undefined;
    for (const [channel, due] of this.#due) this.#flushOne(channel, due);
  }

  #flushOne(channel: string, { messages }: Due): void {
    this.#due.delete(channel);
    const body = `[${messages.join()}]`;
    const size = Buffer.byteLength(body);
    if (this.#unsent + size > MAX_UNSENT) return;
    const sent = this.#send(channel, body);
    if (!sent) return;
    this.#unsent += size;
    const over = () => void (this.#unsent -= size);
    sent.then(over, over);
  }
}

// Hints for chat events account for most of the traffic between nodes. Fields that can be derived
// from the event, or that have their usual value, are omitted on the wire.

type Hint = HintMessage["hints"][number];

/** The wire format of a chat event's hint. */
interface ShortHint {
  readonly previous: number;
  readonly tag: number;
  /** The author, without the user if the user is the sender. Omitted if no other field remains. */
  readonly by?: Author;
  readonly event: Partial<ChatEvent> & Pick<ChatEvent, "id">;
  /** The ids of the previous event and the previous message. */
  readonly after: readonly [number, number];
  readonly notified?: readonly string[];
  readonly appeared?: readonly string[];
}

const shortOf = (hint: Hint): Hint | ShortHint => {
  const { entry, previous } = hint;
  if (entry.type !== "chat.event") return hint;
  const { tag, by, delivery } = entry;
  const { notified, appeared } = delivery;
  const { edited, replaces, reactions, ...event } = delivery.event;
  const isSender = by.kind === "user" && by.user === event.sender;
  const { user: _, ...rest } = by;
  return {
    previous,
    tag,
    ...(isSender ? by.connection !== undefined && { by: rest } : { by }),
    event: {
      ...event,
      ...(edited !== null && { edited }),
      ...(replaces !== null && { replaces }),
      ...(Object.keys(reactions).length > 0 && { reactions }),
    },
    after: [delivery.previous, delivery.previousMessage],
    ...(notified.length > 0 && { notified }),
    ...(appeared.length > 0 && { appeared }),
  };
};

/**
 * Restores a shortened hint. Returns a complete hint unchanged. The result is not validated:
 * restoring an invalid value may yield another invalid value.
 */
const wholeOf = (world: string, hint: Hint | ShortHint): unknown => {
  if (typeof hint !== "object" || hint === null || !("event" in hint)) {
    return hint;
  }
  const { previous, tag, by, after, notified = [], appeared = [] } = hint;
  const event = { edited: null, replaces: null, reactions: {}, ...hint.event } as ChatEvent;
  const [before, message] = Array.isArray(after) ? after : [];
  const sender = { kind: "user", user: event.sender } as Author;
  const author =
    by === undefined
      ? sender
      : by?.kind === "user" && !("user" in by)
        ? { ...sender, connection: by.connection }
        : by;
  const delivery = { event, previous: before, previousMessage: message };
  const decodeMessage = { ...delivery, notified, appeared } as ChatDelivery;
  return { entry: chatEntry(world, tag, decodeMessage, author), previous };
};

/** Converts a message to its wire format. */
export const encodeMessage = (message: SnapshotMessage | HintMessage): object =>
  message.type === "hints" ? { ...message, hints: message.hints.map(shortOf) } : message;

/**
 * Reverses {@link encodeMessage}. Neither the message, which comes from another process, nor the
 * result has been validated.
 */
export function whole(message: unknown): unknown {
  const { type, world, hints } = (message ?? {}) as Partial<Extract<BusPayload, { type: "hints" }>>;
  if (type !== "hints" || typeof world !== "string" || !Array.isArray(hints)) {
    return message;
  }
  return {
    ...(message as object),
    hints: hints.map((hint: Hint | ShortHint) => wholeOf(world, hint)),
  };
}
