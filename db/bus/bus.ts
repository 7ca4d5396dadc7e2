import { randomUUID } from "node:crypto";
import type { Entry, Hint } from "../log/entries.js";

/**
 * In-memory state that one process holds for a world, such as the people present. The listener
 * defines the shape of the data.
 */
export interface SnapshotMessage {
  type: "snapshot";
  /** Limits delivery to processes that joined this world. By default, all processes receive the message. */
  world?: string;
  /** Must be plain JSON. */
  data: unknown;
}

/** Entries that one transaction appended to a world's log. */
export interface HintMessage {
  type: "hints";
  world: string;
  hints: readonly Hint<Entry>[];
}

/**
 * Reports that a process has ended, cleanly or not. All other processes on the bus receive this
 * message after every other message from the ended process.
 */
export interface ProcessEnded {
  type: "process.ended";
  process: string;
}

/**
 * Reports that a process that was unknown, or considered ended, now shares the bus with this
 * process. Neither process has received the other's earlier messages.
 */
export interface ProcessBegan {
  type: "process.began";
  process: string;
}

export type BusMessage = SnapshotMessage | HintMessage | ProcessBegan | ProcessEnded;

/** Called for each message. Errors are passed to `onFault` and do not affect other listeners. */
export type BusListener = (message: BusMessage) => void;

/**
 * Carries messages between the processes that share a store. A message may arrive late, twice, out
 * of order, or never. Messages are plain JSON.
 */
export interface Bus {
  /** The name of this process, unique among all past and present processes on this bus. */
  readonly process: string;
  /** Whether no other process can ever share this bus. */
  readonly isAlone: boolean;
  /** All other processes on this bus that are known to be running. */
  readonly others: ReadonlySet<string>;
  /**
   * Sends a message to all listeners. The listeners in this process receive the message before this
   * method returns. If a listener publishes another message, that message is delivered after the
   * current message. Never throws.
   */
  publish(message: SnapshotMessage | HintMessage): void;
  /**
   * Adds a listener.
   * @returns a function that unsubscribes the listener.
   */
  subscribe(listener: BusListener): () => void;
  /**
   * Joins a world. Calls are counted: the process leaves the world once each join has been undone
   * by {@link leave}. Messages from other processes arrive only for joined worlds; messages without
   * a world always arrive. Messages may be lost until the other processes learn of the join, except
   * replies to a message that this process publishes after joining. Never throws.
   */
  join(world: string): void;
  /**
   * Undoes one {@link join}. Once all joins are undone, messages from other processes for that
   * world no longer arrive.
   */
  leave(world: string): void;
  /** Stops delivery. No listener is called afterwards. */
  close(): Promise<void>;
}

export type OnFault = (error: unknown) => void;

/**
 * The bus of a single process. Listeners run before `publish` returns. If a listener publishes a
 * message, that message is delivered once every listener has received the current message.
 */
export class LocalBus implements Bus {
  readonly #listeners = new Set<BusListener>();
  readonly #onFault: OnFault;
  readonly process: string;
  readonly isAlone: boolean = true;
  readonly others = new Set<string>();
  /** The message being delivered, followed by the messages that listeners have published during delivery. */
  readonly #due: BusMessage[] = [];
  #closed = false;

  constructor(onFault: OnFault, name: string = randomUUID()) {
    this.#onFault = onFault;
    this.process = name;
  }

  publish(message: BusMessage): void {
    if (this.#closed || this.#due.push(message) > 1) return;
    try {
      // Listeners that publish a message append it to this array during the loop.
      for (const next of this.#due) this.#notify(next);
    } finally {
      this.#due.length = 0;
    }
  }

  #notify(message: BusMessage): void {
    if (message.type === "process.began") this.others.add(message.process);
    else if (message.type === "process.ended") this.others.delete(message.process);
    for (const listener of this.#listeners) {
      try {
        listener(message);
      } catch (error) {
        this.#onFault(error);
      }
    }
  }

  /** No-op: a local bus delivers the messages of all worlds. */
  join(): void {}

  leave(): void {}

  subscribe(listener: BusListener): () => void {
    // Wrap the listener in a new function, so that the same listener can subscribe twice.
    const own: BusListener = (message) => listener(message);
    if (!this.#closed) this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
  }
}
