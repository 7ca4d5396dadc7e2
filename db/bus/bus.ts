import { randomUUID } from "node:crypto";
import type { Entry, Hint } from "../log/entries.js";

/** What one process has in a world and does not store, such as its people. Its listener knows the shape. */
export interface SnapshotMessage {
  type: "snapshot";
  /** The world whose processes get it: those that joined it. By default all processes do. */
  world?: string;
  /** Plain JSON. */
  data: unknown;
}

/** Entries that one transaction appended to the log of a world. */
export interface HintMessage {
  type: "hints";
  world: string;
  hints: readonly Hint<Entry>[];
}

/**
 * A process has ended, however it did. It comes after all other messages of that
 * process, and to all others that share the bus with it.
 */
export interface ProcessEnded {
  type: "process.ended";
  process: string;
}

/**
 * A process that this one did not know, or had counted as ended, shares the bus with it
 * now. Neither has the other's earlier messages.
 */
export interface ProcessBegan {
  type: "process.began";
  process: string;
}

export type BusMessage = SnapshotMessage | HintMessage | ProcessBegan | ProcessEnded;

/** Called for each message. Its errors go to `onFault` and do not affect other listeners. */
export type BusListener = (message: BusMessage) => void;

/**
 * Carries messages between the processes that share a store. A message may come late,
 * twice, in another order, or never. Messages are plain JSON.
 */
export interface Bus {
  /** The name of this process: no other that shares this bus has or had it. */
  readonly process: string;
  /** Whether no other process can ever share this bus. */
  readonly isAlone: boolean;
  /** The processes that have begun and not ended, without this one. */
  readonly others: ReadonlySet<string>;
  /**
   * Sends a message to all listeners; the listeners of this process have it when this returns.
   * It never throws. Messages that a listener publishes follow the present one.
   */
  publish(message: SnapshotMessage | HintMessage): void;
  /** @returns a function that ends the subscription. */
  subscribe(listener: BusListener): () => void;
  /**
   * Joins a world, once more if this process has joined it already. Other processes' messages
   * come only for joined worlds; messages without a world always come. Messages may be lost
   * until the join is known elsewhere, but an answer to a message that this process publishes
   * from now on comes like any other. It never throws.
   */
  join(world: string): void;
  /** Takes back one {@link join}. With the last one, others' messages of that world no longer come. */
  leave(world: string): void;
  /** Stops delivery: no listener is called any more. */
  close(): Promise<void>;
}

export type OnFault = (error: unknown) => void;

/**
 * The bus of one process. Listeners run before `publish` returns, unless a
 * listener publishes: then all get the present message first.
 */
export class LocalBus implements Bus {
  readonly #listeners = new Set<BusListener>();
  readonly #onFault: OnFault;
  readonly process: string;
  readonly isAlone: boolean = true;
  readonly others = new Set<string>();
  /** The message that listeners get now, and the messages published meanwhile. */
  readonly #due: BusMessage[] = [];
  #closed = false;

  constructor(onFault: OnFault, name: string = randomUUID()) {
    this.#onFault = onFault;
    this.process = name;
  }

  publish(message: BusMessage): void {
    if (this.#closed || this.#due.push(message) > 1) return;
    try {
      // It grows while listeners publish.
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

  /** A local bus delivers the messages of all worlds. */
  join(): void {}

  leave(): void {}

  subscribe(listener: BusListener): () => void {
    // A new function, so that the same listener may subscribe twice.
    const own: BusListener = (message) => listener(message);
    if (!this.#closed) this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
  }
}
