import type {
  Bus,
  BusMessage,
  HintMessage,
  OnFault,
  SnapshotMessage,
} from "../../../db/bus/bus.js";
import type { ValkeyBus } from "../../../db/bus/valkey/valkey-bus.js";

/** A test listener's reaction to each text, after recording it. */
export type ListenerBehavior = "notes" | "throws" | "republishes";

/** The world that all nodes have joined. */
export const WORLD = "demo";

/** The topic of texts, which listeners record. */
const TEXT = "text";

/** The topic of marks, whose arrival shows that everything published before has arrived. */
const MARK = "mark";

/** The topic of a question to all processes. Each publishes its answer in the world that it names. */
const ASK = "ask";

/** Wraps the bus of one process for tests: its listeners have names and record what they receive. */
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

  subscribe(name: string, manner: ListenerBehavior = "notes"): void {
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
   * Publishes texts in the shared world, one after another.
   * @returns for each text, how many messages each local listener had received when the call
   * returned.
   */
  publish(...texts: string[]): Record<string, number>[] {
    return this.publishIn(WORLD, ...texts);
  }

  /** Publishes texts in another world, or with null in none. */
  publishIn(world: string | null, ...texts: string[]): Record<string, number>[] {
    return texts.map((data) => {
      this.#publish(TEXT, data, world);
      const counts = [...this.#received].map(([name, { length }]) => [name, length] as const);
      return Object.fromEntries(counts);
    });
  }

  /** Publishes an arbitrary message. */
  send(message: SnapshotMessage | HintMessage): void {
    this.#bus.publish(message);
  }

  /** Joins worlds, leaving and rejoining each several times, and asks all processes for a text in each. */
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

  /** Returns what a listener has recorded, in order. */
  received(name: string): string[] {
    return this.#received.get(name)!;
  }

  /** Returns the name of this process on the bus. */
  name(): string {
    return this.#bus.process;
  }

  /**
   * Publishes a mark, which listeners do not record.
   * @returns false if the bus is closed.
   */
  mark(mark: string): boolean {
    if (this.#isClosed) return false;
    this.#publish(MARK, mark, null);
    return true;
  }

  /** Returns the received marks; undefined if the bus is closed. */
  marks(): string[] | undefined {
    return this.#isClosed ? undefined : this.#marks;
  }

  /** Returns events about other processes. */
  signals(): string[] {
    return this.#signals;
  }

  /** Returns whether messages reach other processes, and the identity of the server between them. */
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

  /** Calls a method by name. */
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

/** The methods of a {@link Remote}. */
export type Method = Exclude<keyof BusNode, "run">;

/** The content that a test has published. */
const noteOf = ({ data }: { data: unknown }) => (data ?? {}) as { topic?: string; text: string };

/**
 * Returns what a listener records: a text, the name of an ended process, or the whole message as
 * JSON; undefined for messages that are not recorded.
 */
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

/** A {@link BusNode} in any process. */
export type Remote = {
  [N in Method]: (...args: Parameters<BusNode[N]>) => Promise<Awaited<ReturnType<BusNode[N]>>>;
};
