import { type Readable, writable } from "svelte/store";
import type { Commands, Live } from "../../client/index.js";
import type { People } from "./session.js";

export type HeldMessage = Commands["chat.held.list"]["result"]["results"][number];

/** A message that no longer waits, because a moderator rejected it. */
export interface Rejected {
  readonly message: HeldMessage;
  /** The moderator's reason; empty if there is none. */
  readonly reason: string;
}

export interface HeldList {
  /** The number of messages that wait. It may exceed the number of `messages`. */
  readonly count: number;
  /** Longest waiting first: all messages for moderators, or the user's own. */
  readonly messages: readonly HeldMessage[];
  /** The user's own messages that were rejected while the page was open. */
  readonly rejected: readonly Rejected[];
}

const NONE: HeldList = { count: 0, messages: [], rejected: [] };

/** The messages of a room's chat that wait for a moderator. */
export class HeldMessages implements Readable<HeldList> {
  readonly #live: Live;
  readonly #people: People;
  readonly #channel: string;
  readonly #store = writable<HeldList>(NONE);
  readonly subscribe = this.#store.subscribe;
  #ends: (() => void)[] = [];
  #now = NONE;
  #isReading = false;
  /** Whether a push arrived during a read, so that the read's result may be older than the push. */
  #readAgain = false;

  constructor({ live, people }: { live: Live; people: People }, channel: string) {
    this.#live = live;
    this.#people = people;
    this.#channel = channel;
  }

  /** Starts reading the list. */
  open(): void {
    const live = this.#live;
    this.#ends = [
      live.on("authenticated", () => void this.load()),
      live.on("chat.held", ({ channel, event, user }) => {
        if (channel !== this.#channel) return;
        this.#people.add([user]);
        this.#add(event);
      }),
      live.on("chat.held.gone", ({ channel, event, state, reason }) => {
        if (channel !== this.#channel) return;
        this.#remove(event, state === "rejected" ? (reason ?? "") : undefined);
      }),
    ];
    void this.load();
  }

  close(): void {
    for (const end of this.#ends) end();
    this.#ends = [];
    this.#now = NONE;
    this.#store.set(NONE);
  }

  /** Reads the list. After an error, the old list stays, because the next login reads it again. */
  async load(): Promise<void> {
    if (this.#isReading) {
      this.#readAgain = true;
      return;
    }
    this.#isReading = true;
    this.#readAgain = false;
    try {
      const { count, results, users } = await this.#live.call("chat.held.list", {
        channel: this.#channel,
      });
      if (this.#ends.length === 0) return;
      this.#people.add(Object.values(users));
      this.#set({ count, messages: results });
    } catch {
      // Shown as before.
    } finally {
      this.#isReading = false;
    }
    if (this.#readAgain && this.#ends.length > 0) await this.load();
  }

  /** Approves a message that waits. */
  async approve(id: string): Promise<void> {
    await this.#live.call("chat.approve", { channel: this.#channel, event: id });
    this.#remove(id);
  }

  /** Rejects and erases a message that waits. Its author is informed of the reason. */
  async reject(id: string, reason = ""): Promise<void> {
    await this.#live.call("chat.reject", {
      channel: this.#channel,
      event: id,
      ...(reason !== "" && { reason }),
    });
    this.#remove(id);
  }

  /** Dismisses a rejected message. */
  forget(id: string): void {
    this.#set({ rejected: this.#now.rejected.filter(({ message }) => message.id !== id) });
  }

  #add(message: HeldMessage): void {
    this.#readAgain = true;
    const { count, messages, rejected } = this.#now;
    if (messages.some(({ id }) => id === message.id)) return;
    this.#set({
      count: count + 1,
      messages: [...messages, message],
      // A newer edit has replaced the previous one.
      rejected: rejected.filter(
        (it) => message.replaces === null || it.message.replaces !== message.replaces,
      ),
    });
  }

  /** @param reason of a rejection; undefined for an approval. */
  #remove(id: string, reason?: string): void {
    this.#readAgain = true;
    const { count, messages, rejected } = this.#now;
    const message = messages.find((it) => it.id === id);
    if (message) {
      const isOwn = message.sender === this.#live.state?.user.id;
      this.#set({
        count: count - 1,
        messages: messages.filter((it) => it !== message),
        ...(isOwn && reason !== undefined && { rejected: [...rejected, { message, reason }] }),
      });
    }
    // More messages are waiting than one response lists.
    if (this.#now.messages.length === 0 && this.#now.count > 0) void this.load();
  }

  #set(changes: Partial<HeldList>): void {
    this.#now = { ...this.#now, ...changes };
    this.#store.set(this.#now);
  }
}
