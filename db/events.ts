/** Something that happened in a world and that others may have to know. */
export type WorldEvent =
  | { type: "world.created" | "world.updated" | "world.deleted"; world: string }
  /**
   * A process without events, such as a command, changed something in this
   * world: nobody knows what, so whoever keeps anything of it looks again.
   */
  | { type: "world.touched"; world: string }
  | {
      type: "room.created" | "room.updated" | "room.deleted";
      world: string;
      room: string;
    }
  | { type: "user.erased"; world: string }
  | { type: "file.added" | "file.deleted"; world: string };

/** Is called for each event. What it throws is logged and stops nobody. */
export type Listener = (event: WorldEvent) => void;

/**
 * Carries events to all who listen, in this process and in all others that
 * share the store. Every listener gets the events of one process once and in the
 * order of their publication. Events of different processes have no order.
 *
 * Events are plain JSON. They carry no data that a reader could not get from the
 * store, so a lost event costs time and never correctness.
 */
export interface Events {
  /**
   * Tells all listeners, those of this process before it returns. It never
   * throws. What a listener publishes is told after the present event.
   */
  publish(event: WorldEvent): void;
  /** @returns a function that ends the subscription. */
  subscribe(listener: Listener): () => void;
  /** Takes no more events and calls no more listeners. */
  close(): Promise<void>;
}
