import type { Author } from "../../contract/author.js";
import type { ChatEvent, Delivery } from "../../contract/chat-store.js";
import { chatEntry } from "../../log/entries.js";
import type { HintMessage, SnapshotMessage } from "../bus.js";
import type { Sent } from "../shapes.js";

/** How large the messages of one channel get before they are sent, in characters. */
const FULL = 256 * 1024;

/** How much may be on its way to Valkey, in bytes. More is dropped. */
const MAX_UNSENT = 8 * 1024 * 1024;

/**
 * Sends messages, as a JSON array, through a channel.
 * @returns a promise for when Valkey has them, or may not have them; undefined while there
 *   is no connection.
 */
type Send = (channel: string, body: string) => Promise<unknown> | undefined;

/** The messages that wait for the end of the turn. */
interface Due {
  readonly messages: string[];
  /** In characters. */
  size: number;
}

/** Collects the messages of one turn of the event loop, and sends them as one per channel. */
export class Outbox {
  readonly #send: Send;
  readonly #due = new Map<string, Due>();
  #turn: NodeJS.Immediate | undefined;
  #unsent = 0;

  constructor(send: Send) {
    this.#send = send;
  }

  add(channel: string, message: SnapshotMessage | HintMessage): void {
    const json = JSON.stringify(shortened(message));
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

// Most of the bytes between nodes are hints of chat events. They travel without fields that
// follow from the event, or have their usual value.

type Hint = HintMessage["hints"][number];

/** A hint of a chat event as it travels. */
interface ShortHint {
  readonly previous: number;
  readonly tag: number;
  /** Without the user if that is the sender; left out if there is nothing else to say. */
  readonly by?: Author;
  readonly event: Partial<ChatEvent> & Pick<ChatEvent, "id">;
  /** The previous event and the previous message. */
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

/** Restores a shortened hint. Any other value stays as it is, or becomes one that every check refuses. */
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
  const whole = { ...delivery, notified, appeared } as Delivery;
  return { entry: chatEntry(world, tag, whole, author), previous };
};

/** A message as it travels. */
export const shortened = (message: SnapshotMessage | HintMessage): object =>
  message.type === "hints" ? { ...message, hints: message.hints.map(shortOf) } : message;

/** The message that was {@link shortened}. It comes from elsewhere, and is not checked yet. */
export function whole(message: unknown): unknown {
  const { type, world, hints } = (message ?? {}) as Partial<Extract<Sent, { type: "hints" }>>;
  if (type !== "hints" || typeof world !== "string" || !Array.isArray(hints)) {
    return message;
  }
  return {
    ...(message as object),
    hints: hints.map((hint: Hint | ShortHint) => wholeOf(world, hint)),
  };
}
