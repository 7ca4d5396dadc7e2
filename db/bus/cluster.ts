import type { ChildProcess } from "node:child_process";
import type {
  Bus,
  BusListener,
  Counted,
  HintMessage,
  LiveMessage,
  ProcessEnded,
} from "./bus.js";
import { LocalBus, type OnFault } from "./local.js";
import { received } from "./shapes.js";

/**
 * How many messages may wait until the other side reads them. A process that is so far behind
 * hangs, or will not catch up: it ends, and its clients connect to another one.
 */
const MAX_UNREAD = 20_000;

/** The message between a worker and the primary. */
interface EventMessage {
  foyer: "event";
  event: unknown;
}

const isEventMessage = (message: unknown): message is EventMessage =>
  (message as EventMessage | null)?.foyer === "event";

/**
 * The bus between the workers of one machine. A worker calls its own listeners and
 * sends the message to the primary process, which relays it to all other workers
 * (see {@link relayEvents}).
 */
export class ClusterBus implements Bus {
  readonly #local: LocalBus;
  readonly #primary: NodeJS.Process;
  #closed = false;
  /** How many messages the primary has not read. */
  #unread = 0;

  /**
   * @param primary this process, whose channel leads to the primary.
   * @param name the name under which the primary announces its end.
   */
  constructor(primary: NodeJS.Process, onFault: OnFault, name: string) {
    this.#local = new LocalBus(onFault, name);
    this.#primary = primary;
    primary.on("message", this.#receive);
  }

  get process(): string {
    return this.#local.process;
  }

  publish(event: LiveMessage | HintMessage): void {
    if (this.#closed) return;
    // The others first: a listener here may publish the next event.
    this.#send({ foyer: "event", event });
    this.#local.publish(event);
  }

  /** Every message comes here in any case. */
  join(): void {}

  leave(): void {}

  subscribe(listener: BusListener): () => void {
    return this.#local.subscribe(listener);
  }

  count(key: string, window: number): Promise<Counted> {
    return this.#local.count(key, window);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#primary.off("message", this.#receive);
    await this.#local.close();
  }

  #send(message: EventMessage): void {
    // Without a primary this worker is about to end, as are all others.
    if (!this.#primary.connected) return;
    if (this.#unread >= MAX_UNREAD) return this.#primary.exit(1);
    this.#unread++;
    const read = () => void this.#unread--;
    this.#primary.send!(message, undefined, undefined, read);
  }

  readonly #receive = (message: unknown): void => {
    if (!isEventMessage(message)) return;
    // The log has what is left out here.
    for (const event of received(message.event)) this.#local.publish(event);
  };
}

/** How many messages each worker has not read. */
const unread = new WeakMap<ChildProcess, number>();

function sendTo(worker: ChildProcess, message: EventMessage): void {
  const count = unread.get(worker) ?? 0;
  // A worker that hangs does not hear other signals.
  if (count >= MAX_UNREAD) return void worker.kill("SIGKILL");
  unread.set(worker, count + 1);
  worker.send(message, () => unread.set(worker, unread.get(worker)! - 1));
}

/**
 * Relays the events of one worker to the others, and announces its end. Runs in the
 * primary.
 * @param name of the worker.
 * @param workers returns all workers that are alive now.
 */
export function relayEvents(
  from: ChildProcess,
  name: string,
  workers: () => Iterable<ChildProcess>,
): void {
  const relay = (message: EventMessage) => {
    for (const worker of workers()) {
      // A worker that has just exited needs no events.
      if (worker !== from && worker.connected) sendTo(worker, message);
    }
  };
  from.on("message", (message: unknown) => {
    if (isEventMessage(message)) relay(message);
  });
  // A process may exit before its last messages are read. Its channel closes after them.
  let isPartlyOver = false;
  const onOver = () => {
    if (isPartlyOver) {
      const event = {
        type: "process.ended",
        process: name,
      } satisfies ProcessEnded;
      relay({ foyer: "event", event });
    }
    isPartlyOver = true;
  };
  from.once("exit", onOver).once("disconnect", onOver);
}
