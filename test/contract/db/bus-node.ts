import type {
  Bus,
  BusMessage,
  HintMessage,
  OnFault,
  SnapshotMessage,
} from "../../../db/bus/bus.js";
import type { ValkeyBus } from "../../../db/bus/valkey/valkey-bus.js";

/** What a listener of a test does with each text, after it has noted it. */
export type Manner = "notes" | "throws" | "republishes";

/** The world that every node has joined. */
export const WORLD = "demo";

/** The topic of texts, which listeners note. */
const TEXT = "text";

/** The topic of what a test publishes to know that everything before it has come. */
const MARK = "mark";

/** The topic of a question to all processes, which each answers in the world that it names. */
const ASK = "ask";

/** A bus as a test uses it in one process: listeners have names, and note what they get. */
export class BusNode {
  readonly #bus: Bus;
  readonly #ends = new Map<string, () => void>();
  readonly #received = new Map<string, string[]>();
  readonly #signals: string[] = [];
  readonly #marks: string[] = [];
  readonly #faults: string[];
  #isClosed = false;

  constructor(bus: Bus, faults: string[]) {
    this.#bus = bus;
    this.#faults = faults;
    bus.subscribe((message) => this.#hear(message));
    bus.join(WORLD);
  }

  static async open(open: (onFault: OnFault) => Promise<Bus> | Bus): Promise<BusNode> {
    const faults: string[] = [];
    const bus = await open((fault) => faults.push((fault as Error).message));
    return new BusNode(bus, faults);
  }

  subscribe(name: string, manner: Manner = "notes"): void {
    const received: string[] = [];
    this.#received.set(name, received);
    const end = this.#bus.subscribe((message) => {
      const text = textOf(message);
      if (text === undefined) return;
      received.push(text);
      if (manner === "throws") throw new Error(`${name} got ${text}`);
      if (manner === "republishes" && !text.endsWith("again")) {
        this.publish(`${text} again`);
      }
    });
    this.#ends.set(name, end);
  }

  unsubscribe(name: string): void {
    this.#ends.get(name)!();
  }

  join(world: string): void {
    this.#bus.join(world);
  }

  leave(world: string): void {
    this.#bus.leave(world);
  }

  /**
   * Publishes texts in the world of all nodes, one after the other.
   * @returns how many messages each listener here had got when each call returned.
   */
  publish(...texts: string[]): Record<string, number>[] {
    return this.publishIn(WORLD, ...texts);
  }

  /** Does the same in another world, or with null in none. */
  publishIn(world: string | null, ...texts: string[]): Record<string, number>[] {
    return texts.map((data) => {
      this.#publish(TEXT, data, world);
      const counts = [...this.#received].map(([name, { length }]) => [name, length] as const);
      return Object.fromEntries(counts);
    });
  }

  /** Publishes any message. */
  send(message: SnapshotMessage | HintMessage): void {
    this.#bus.publish(message);
  }

  /** Joins worlds, each as the last of several changes of mind, and asks all processes for a text in each. */
  ask(...worlds: string[]): void {
    for (const world of worlds) {
      for (let i = 0; i < 2; i++) {
        this.#bus.join(world);
        this.#bus.leave(world);
      }
      this.#bus.join(world);
      this.#publish(ASK, world, null);
    }
  }

  /** What a listener noted of the messages that it got, in their order. */
  received(name: string): string[] {
    return this.#received.get(name)!;
  }

  /** What the bus calls this process. */
  name(): string {
    return this.#bus.process;
  }

  /** Publishes something that listeners do not note. @returns false after the end. */
  mark(mark: string): boolean {
    if (this.#isClosed) return false;
    this.#publish(MARK, mark, null);
    return true;
  }

  /** The marks that came; undefined after the end. */
  marks(): string[] | undefined {
    return this.#isClosed ? undefined : this.#marks;
  }

  /** What happened to the other processes. */
  signals(): string[] {
    return this.#signals;
  }

  /** Whether messages reach others, and which server they go through. */
  state(): { connected: boolean; identity: string } {
    const { connected = true, identity = "" } = this.#bus as Partial<ValkeyBus>;
    return { connected, identity };
  }

  faults(): string[] {
    return this.#faults;
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return this.#bus.close();
  }

  /** Runs a method by its name. */
  run(method: Method, args: unknown[]): unknown {
    return (this[method] as (...args: unknown[]) => unknown)(...args);
  }

  #publish(topic: string, data: string, world: string | null): void {
    const to = world === null ? {} : { world };
    this.#bus.publish({ type: "snapshot", ...to, data: { topic, text: data } });
  }

  #hear(message: BusMessage): void {
    if (message.type === "process.began") {
      this.#signals.push(`began ${message.process}`);
    } else if (message.type === "process.ended") {
      this.#signals.push(`ended ${message.process}`);
    } else if (message.type === "snapshot") {
      const { topic, text } = noteOf(message);
      if (topic === MARK) this.#marks.push(text);
      else if (topic === ASK) this.#publish(TEXT, `${text} of ${this.name()}`, text);
    }
  }
}

/** What a {@link Remote} can do. */
export type Method = Exclude<keyof BusNode, "run">;

/** What a test has published. */
const noteOf = ({ data }: { data: unknown }) => (data ?? {}) as { topic?: string; text: string };

/** What a listener notes of a message: its text, the process that ended, or all of it. */
function textOf(message: BusMessage): string | undefined {
  if (message.type === "process.began") return undefined;
  if (message.type === "process.ended") return message.process;
  if (message.type === "snapshot") {
    const { topic, text } = noteOf(message);
    if (topic === MARK || topic === ASK) return undefined;
    if (topic === TEXT) return text;
  }
  return JSON.stringify(message);
}

/** The same, in whatever process it is. */
export type Remote = {
  [N in Method]: (...args: Parameters<BusNode[N]>) => Promise<Awaited<ReturnType<BusNode[N]>>>;
};
