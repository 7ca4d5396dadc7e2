import type {
  AnyEvent,
  Counted,
  Events,
  LiveMessage,
  WorldEvent,
} from "../../db/events.js";
import type { OnFault } from "../db/bus/local.js";
import type { ValkeyEvents } from "../../db/valkey/events.js";

/** What a listener of a test does with each event, after it has noted it. */
export type Manner = "notes" | "throws" | "republishes";

/** What a test publishes to know that everything before it has come. */
const MARK = "mark";

/** Events as a test uses them in one process: listeners have names, and note what they get. */
export class EventsNode {
  readonly #events: Events;
  readonly #ends = new Map<string, () => void>();
  readonly #received = new Map<string, string[]>();
  readonly #signals: string[] = [];
  readonly #marks: string[] = [];
  readonly #faults: string[];
  #isClosed = false;

  constructor(events: Events, faults: string[]) {
    this.#events = events;
    this.#faults = faults;
    events.subscribe((event) => {
      if (event.type === "events.missed") this.#signals.push("missed");
      else if (event.type === "process.began") {
        this.#signals.push(`began ${event.process}`);
      } else if (event.type === "process.ended") {
        this.#signals.push(`ended ${event.process}`);
      } else if (event.type === "live" && isMark(event)) {
        this.#marks.push(event.data as string);
      }
    });
  }

  static async open(
    open: (onFault: OnFault) => Promise<Events> | Events,
  ): Promise<EventsNode> {
    const faults: string[] = [];
    const events = await open((fault) => faults.push((fault as Error).message));
    return new EventsNode(events, faults);
  }

  subscribe(name: string, manner: Manner = "notes"): void {
    const received: string[] = [];
    this.#received.set(name, received);
    const end = this.#events.subscribe((event) => {
      const world = textOf(event);
      if (world === undefined) return;
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

  /** Publishes something that listeners do not note. @returns false after the end. */
  mark(mark: string): boolean {
    if (this.#isClosed) return false;
    this.#events.publish({ type: "live", topic: MARK, data: mark });
    return true;
  }

  /** The marks that came; undefined after the end. */
  marks(): string[] | undefined {
    return this.#isClosed ? undefined : this.#marks;
  }

  /** What happened to the other processes, and whether events were missed. */
  signals(): string[] {
    return this.#signals;
  }

  count(key: string, window: number): Promise<Counted> {
    return this.#events.count(key, window);
  }

  /** Whether events reach others, and which server they go through. */
  state(): { connected: boolean; identity: string } {
    const { connected = true, identity = "" } = this
      .#events as Partial<ValkeyEvents>;
    return { connected, identity };
  }

  faults(): string[] {
    return this.#faults;
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return this.#events.close();
  }

  /** Runs a method by its name. */
  run(method: Method, args: unknown[]): unknown {
    return (this[method] as (...args: unknown[]) => unknown)(...args);
  }
}

/** What a {@link Remote} can do. */
export type Method = Exclude<keyof EventsNode, "run">;

const isMark = (event: AnyEvent): boolean =>
  event.type === "live" && event.topic === MARK;

/** What a listener notes of an event: its world, the process that ended, or all of a message. */
function textOf(event: AnyEvent): string | undefined {
  if (isMark(event)) return undefined;
  if (event.type === "live") return JSON.stringify(event);
  if (event.type === "process.ended") return event.process;
  return "world" in event ? event.world : undefined;
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
