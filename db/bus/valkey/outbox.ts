import type { HintMessage, SnapshotMessage } from "../bus.js";
import { shortened } from "./short-hints.js";

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
  /** How many bytes are on their way. */
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

  /** Sends the collected messages. */
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
