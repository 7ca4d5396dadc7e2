import {
  LiveError,
  type Channel,
  type MessageContent,
  type SentEvent,
} from "../../client/index.js";
import type { Unconfirmed } from "./chat-drafts.js";
import { codeOf } from "./session.js";

/** A message of which the server has not confirmed that it got it. */
export interface Waiting extends Unconfirmed {
  readonly key: string;
  /** Why it was not sent; undefined while it is on its way. */
  readonly failure: string | undefined;
}

/** The code of a message that an earlier visit to the page could not send. */
export const UNSENT = "unsent";

export interface OutboxParts {
  readonly channel: Channel;
  /** Makes the user a member, who may send. */
  readonly join: () => Promise<void>;
  /** The user turned out to be no member. @returns whether joining may help. */
  readonly lost: () => boolean;
  readonly changed: () => void;
  readonly sent: (event: SentEvent) => void;
}

/** The own messages on their way. What could not be sent stays until the user decides. */
export class ChatOutbox {
  readonly #parts: OutboxParts;
  #all: readonly Waiting[] = [];
  #last = 0;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  get all(): readonly Waiting[] {
    return this.#all;
  }

  get isBusy(): boolean {
    return this.#all.some(({ failure }) => failure === undefined);
  }

  /** Takes what an earlier visit could not send. */
  restore(all: readonly Unconfirmed[]): void {
    for (const { localId, content } of all) {
      this.#all = [
        ...this.#all,
        { key: this.#key(), localId, content, failure: UNSENT },
      ];
    }
  }

  send(content: MessageContent): void {
    const key = this.#key();
    this.#all = [
      ...this.#all,
      { key, localId: "", content, failure: undefined },
    ];
    this.#parts.changed();
    void this.#deliver(key, content);
  }

  retry(key: string): void {
    const found = this.#all.find((it) => it.key === key);
    if (!found?.failure) return;
    this.#without(key);
    const { local_id: _, ...content } = found.content;
    this.send(content);
  }

  /** @returns what is removed. */
  remove(key: string): Waiting | undefined {
    const found = this.#all.find((it) => it.key === key);
    this.#without(key);
    this.#parts.changed();
    return found;
  }

  /** An event came: the message that it is of was sent. @returns whether there is one. */
  arrived(localId: string): boolean {
    const found = this.#all.find((it) => it.localId === localId);
    if (!found || localId === "") return false;
    this.#without(found.key);
    return true;
  }

  async #deliver(key: string, content: MessageContent): Promise<void> {
    try {
      const event = await this.#attempt(key, content).catch((error) => {
        if (codeOf(error) !== "chat.denied" || !this.#parts.lost()) throw error;
        return this.#attempt(key, content);
      });
      this.#without(key);
      this.#parts.sent(event);
    } catch (error) {
      // A page that closes; the message is kept.
      if (codeOf(error) === "client.closed") return;
      this.#change(key, { failure: reasonOf(error) });
    }
    this.#parts.changed();
  }

  async #attempt(key: string, content: MessageContent): Promise<SentEvent> {
    await this.#parts.join();
    const message = this.#parts.channel.send(content);
    this.#change(key, { localId: message.localId });
    this.#parts.changed();
    return message;
  }

  #change(key: string, change: Partial<Waiting>): void {
    this.#all = this.#all.map((it) =>
      it.key === key ? { ...it, ...change } : it,
    );
  }

  #without(key: string): void {
    this.#all = this.#all.filter((it) => it.key !== key);
  }

  #key(): string {
    return `waiting ${++this.#last}`;
  }
}

const reasonOf = (error: unknown): string =>
  error instanceof LiveError ? error.code : "client.failed";
