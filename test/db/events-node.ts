import type {
  AnyEvent,
  Events,
  LiveMessage,
  WorldEvent,
} from "../../db/events.js";
import type { OnFault } from "../../db/local/events.js";

/** What a listener of a test does with each event, after it has noted it. */
export type Manner = "notes" | "throws" | "republishes";

/** Events as a test uses them in one process: listeners have names, and note what they get. */
export class EventsNode {
  readonly #events: Events;
  readonly #ends = new Map<string, () => void>();
  readonly #received = new Map<string, string[]>();
  readonly #faults: string[] = [];

  constructor(open: (onFault: OnFault) => Events) {
    this.#events = open((fault) => this.#faults.push((fault as Error).message));
  }

  subscribe(name: string, manner: Manner = "notes"): void {
    const received: string[] = [];
    this.#received.set(name, received);
    const end = this.#events.subscribe((event) => {
      const world = textOf(event);
      received.push(world);
      if (manner === "throws") throw new Error(`${name} got ${world}`);
      if (manner === "republishes" && !world.endsWith("again")) {
        this.#events.publish(eventOf(`${world} again`));
      }
    });
    this.#ends.set(name, end);
  }

  unsubscribe(name: string): void {
    this.#ends.get(name)!();
  }

  /**
   * Publishes events one after the other.
   * @returns how many events each listener here had got when each call returned.
   */
  publish(...worlds: string[]): Record<string, number>[] {
    return worlds.map((world) => {
      this.#events.publish(eventOf(world));
      const counts = [...this.#received].map(
        ([name, { length }]) => [name, length] as const,
      );
      return Object.fromEntries(counts);
    });
  }

  /** Publishes a message of the live layer. */
  send(message: LiveMessage): void {
    this.#events.publish(message);
  }

  /** What a listener noted of the events that it got, in their order. */
  received(name: string): string[] {
    return this.#received.get(name)!;
  }

  /** What the events call this process. */
  name(): string {
    return this.#events.process;
  }

  faults(): string[] {
    return this.#faults;
  }

  close(): Promise<void> {
    return this.#events.close();
  }

  /** Runs a method by its name. */
  run(method: Method, args: unknown[]): unknown {
    return (this[method] as (...args: unknown[]) => unknown)(...args);
  }
}

/** What a {@link Remote} can do. */
export type Method = Exclude<keyof EventsNode, "run">;

/** What a listener notes of an event: its world, the process that ended, or all of a message. */
function textOf(event: AnyEvent): string {
  if (event.type === "live") return JSON.stringify(event);
  return event.type === "process.ended" ? event.process : event.world;
}

const eventOf = (world: string): WorldEvent => ({
  type: "world.updated",
  world,
});

/** The same, in whatever process it is. */
export type Remote = {
  [N in Method]: (
    ...args: Parameters<EventsNode[N]>
  ) => Promise<Awaited<ReturnType<EventsNode[N]>>>;
};
