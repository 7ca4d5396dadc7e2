import type { SnapshotMessage, ProcessBegan, ProcessEnded } from "../bus/bus.js";
import type { Entry } from "../log/entries.js";

/**
 * Reports that this process must drop its state for a world, because the database has reverted to
 * an earlier state or the process has lagged too far behind.
 */
export interface WorldResetEvent {
  type: "world.reset";
  world: string;
}

export type AnyEvent = Entry | WorldResetEvent | SnapshotMessage | ProcessBegan | ProcessEnded;

/** Called for each event. Errors are passed to `onFault` and do not affect other listeners. */
export type StoreListener = (event: AnyEvent) => void;

/**
 * Delivers the events in the worlds that this process follows, and the messages between processes.
 * Both come from all processes, including this process.
 */
export interface Events {
  /** The name of this process, unique among all past and present processes that share these events. */
  readonly process: string;
  /** Whether no other process can ever share these events. */
  readonly isAlone: boolean;
  /** The other processes that are known to share these events. */
  readonly others: ReadonlySet<string>;
  /**
   * Follows a world. Calls are counted: each call must be undone by {@link unfollow}. Once the
   * promise resolves, listeners receive each entry of the world's log once and in order. Waits
   * while the store is unreadable.
   */
  follow(world: string): Promise<void>;
  /** Undoes one {@link follow}. */
  unfollow(world: string): void;
  /** Subscribes to a world's messages, but not to the world's log. See `Bus`. */
  join(world: string): void;
  /** Undoes one {@link join}. */
  leave(world: string): void;
  /** Whether listeners have received all entries of a world's log that were committed at least a second ago. */
  isCurrent(world: string): boolean;
  /** Returns the number of the last entry of a world's log that listeners have received; 0 for none. */
  reached(world: string): number;
  /** Count of entries that this process had to read from the log because no message announced them in time. */
  readonly caughtUp: number;
  /**
   * Sends a message to the listeners in all processes. A message with a world reaches only the
   * processes that joined that world.
   */
  publish(message: SnapshotMessage): void;
  /**
   * Adds a listener.
   * @param world limits the subscription to this world.
   * @returns a function that unsubscribes the listener.
   */
  subscribe(listener: StoreListener, world?: string): () => void;
  /** Stops delivery. No listener is called afterwards. */
  close(): Promise<void>;
}
