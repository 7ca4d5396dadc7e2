import type { ChildProcess } from "node:child_process";
import type { Events, Listener, WorldEvent } from "../events.js";
import { LocalEvents, type OnFault } from "../local/events.js";

/** The message between a worker and the primary. */
interface EventMessage {
  foyer: "event";
  event: WorldEvent;
}

const isEventMessage = (message: unknown): message is EventMessage =>
  (message as EventMessage | null)?.foyer === "event";

/**
 * Events between the workers of one machine. A worker calls its own listeners and
 * sends the event to the primary process, which relays it to all other workers
 * (see {@link relayEvents}).
 */
export class ClusterEvents implements Events {
  readonly #local: LocalEvents;
  readonly #primary: NodeJS.Process;
  #closed = false;

  /** @param primary this process, whose channel leads to the primary. */
  constructor(primary: NodeJS.Process, onFault: OnFault) {
    this.#local = new LocalEvents(onFault);
    this.#primary = primary;
    primary.on("message", this.#receive);
  }

  publish(event: WorldEvent): void {
    if (this.#closed) return;
    // The others first: a listener here may publish the next event.
    this.#send({ foyer: "event", event });
    this.#local.publish(event);
  }

  subscribe(listener: Listener): () => void {
    return this.#local.subscribe(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#primary.off("message", this.#receive);
    await this.#local.close();
  }

  #send(message: EventMessage): void {
    // Without a primary this worker is about to end, as are all others.
    if (!this.#primary.connected) return;
    this.#primary.send!(message, undefined, undefined, () => {});
  }

  readonly #receive = (message: unknown): void => {
    if (isEventMessage(message)) this.#local.publish(message.event);
  };
}

/**
 * Relays the events of one worker to the others. Runs in the primary.
 * @param others returns all workers that are alive now.
 */
export function relayEvents(
  from: ChildProcess,
  others: () => Iterable<ChildProcess>,
): void {
  from.on("message", (message: unknown) => {
    if (!isEventMessage(message)) return;
    for (const worker of others()) {
      // A worker that has just exited needs no events.
      if (worker !== from && worker.connected) worker.send(message, () => {});
    }
  });
}
