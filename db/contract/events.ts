import type { SnapshotMessage, ProcessBegan, ProcessEnded } from "../bus/bus.js";
import type { Entry } from "../log/entries.js";

/**
 * A process has to drop all that it knows of a world: the database went back to an earlier
 * state, or the process lagged by too much.
 */
export interface WorldReset {
  type: "world.reset";
  world: string;
}

export type AnyEvent = Entry | WorldReset | SnapshotMessage | ProcessBegan | ProcessEnded;

/** Called for each event. Its errors go to `onFault` and do not affect other listeners. */
export type Listener = (event: AnyEvent) => void;

/**
 * The events of the worlds that this process follows, from all processes, and messages
 * between processes.
 */
export interface Events {
  /** The name of this process: no other that shares these events has or had it. */
  readonly process: string;
  /** Whether no other process can ever share these events. */
  readonly isAlone: boolean;
  /** The other processes that share these events, as far as this one knows. */
  readonly others: ReadonlySet<string>;
  /**
   * Follows a world, once more if it is followed already. Listeners get each entry of its
   * log once and in order, from the moment when this resolves. It waits for as long as
   * the store cannot be read.
   */
  follow(world: string): Promise<void>;
  /** Takes back one {@link follow}. */
  unfollow(world: string): void;
  /** This process wants the messages of a world, but not its log. See `Bus`. */
  join(world: string): void;
  /** Takes back one {@link join}. */
  leave(world: string): void;
  /** Whether listeners have got all entries of a world that were committed a second ago. */
  isCurrent(world: string): boolean;
  /** The last entry of a world that listeners have got, as a number; 0 for none. */
  reached(world: string): number;
  /** How many entries this process has read from the log, because no message about them came in time. */
  readonly caughtUp: number;
  /** Sends a message to the listeners of all processes that joined its world, if it has one. */
  publish(message: SnapshotMessage): void;
  /**
   * @param world only what belongs to this world.
   * @returns a function that ends the subscription.
   */
  subscribe(listener: Listener, world?: string): () => void;
  /** Stops delivery: no listener is called any more. */
  close(): Promise<void>;
}
