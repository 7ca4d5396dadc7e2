import type { Entry } from "../log/entries.js";
import type { Hint } from "../log/log.js";

/**
 * A message between the live layers of several processes, about state that is not stored,
 * such as presence.
 */
export interface LiveMessage {
  type: "live";
  /** Its topic; listeners ignore topics that they do not know. */
  topic: string;
  /** The world or the process that it concerns; by default all. Only processes that joined it get it. */
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
  /** The {@link Bus.process} of that process. */
  process: string;
}

/**
 * A process that this one did not know, or had counted as ended, shares the bus with it
 * now. Neither has the other's earlier messages.
 */
export interface ProcessBegan {
  type: "process.began";
  /** The {@link Bus.process} of that process. */
  process: string;
}

/** Everything that a bus delivers. */
export type BusMessage =
  LiveMessage | HintMessage | ProcessBegan | ProcessEnded;

/** How often a key was counted in a window of time. */
export interface Counted {
  /** With the present one. */
  count: number;
  /** After how many milliseconds the window ends. */
  ttl: number;
}

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
  /**
   * Sends a message to all listeners; the listeners of this process have it when this returns.
   * It never throws. Messages that a listener publishes follow the present one.
   */
  publish(message: LiveMessage | HintMessage): void;
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
  /**
   * Counts a key once more, over all processes that share a bus through a server. The
   * window begins with the first count. Others count each for themselves, as does
   * every process while that server does not answer.
   * @param window in milliseconds.
   */
  count(key: string, window: number): Promise<Counted>;
  /** Stops delivery: no listener is called any more. */
  close(): Promise<void>;
}
