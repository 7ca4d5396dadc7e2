/** A change in a world. */
export type WorldEvent =
  | { type: "world.created" | "world.updated" | "world.deleted"; world: string }
  /**
   * A process without events, such as a command, changed something in this
   * world. What it changed is unknown, so listeners have to look again.
   */
  | { type: "world.touched"; world: string }
  | {
      type: "room.created" | "room.updated" | "room.deleted";
      world: string;
      room: string;
    }
  | { type: "user.entered"; world: string; user: string }
  | { type: "user.erased"; world: string }
  | { type: "file.added" | "file.deleted"; world: string };

/** Called for each event. What it throws goes to `onFault` and does not affect other listeners. */
export type Listener = (event: WorldEvent) => void;

/**
 * Delivers events to all listeners, in this process and in the others that share
 * the store. Every listener gets the events of one process once, and in the order
 * in which they were published. Events of different processes have no order.
 *
 * Events are plain JSON. They carry no data that the store does not have, so a
 * lost event delays a listener and never makes it wrong.
 */
export interface Events {
  /**
   * Sends an event to all listeners; those of this process have it when this
   * returns. It never throws. What a listener publishes follows the present event.
   */
  publish(event: WorldEvent): void;
  /** @returns a function that ends the subscription. */
  subscribe(listener: Listener): () => void;
  /** Stops delivery: no listener is called any more. */
  close(): Promise<void>;
}
