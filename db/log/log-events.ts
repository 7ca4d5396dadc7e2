import type { Bus, BusMessage, SnapshotMessage } from "../bus/bus.js";
import type { AnyEvent, Events, Listener } from "../contract/events.js";
import { type Clock, processClock } from "./clock.js";
import type { Entry } from "./entries.js";
import { Follower } from "./follower.js";
import type { Hint, LogReads, Position } from "./log.js";

/** For how long a value is current after the cursor of its world was confirmed, in milliseconds. */
const TRUST = 1000;

/** How long a write waits at most until its entries were applied here, in milliseconds. */
const PATIENCE = 250;

/** The parts of {@link LogEvents}. */
export interface LogEventsParts {
  readonly bus: Bus;
  readonly log: LogReads<Entry>;
  readonly clock?: Clock;
  /** Takes the error of a listener. */
  readonly onFault: (error: unknown) => void;
  /** Gets why the log could not be read. The read is repeated. */
  readonly onUnread?: (error: unknown) => void;
}

/** A write that waits until its entries were applied. */
interface Waiting {
  readonly seq: number;
  readonly resolve: () => void;
}

/** The log of the worlds that this process follows, and the messages of its bus. */
export class LogEvents implements Events {
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #follower: Follower<Entry>;
  readonly #onFault: (error: unknown) => void;
  readonly #listeners = new Set<Listener>();
  /** The listeners of one world each. */
  readonly #ofWorlds = new Map<string, Set<Listener>>();
  readonly #waiting = new Map<string, Set<Waiting>>();
  /** The event that listeners get now, and the ones that came meanwhile. */
  readonly #due: AnyEvent[] = [];
  readonly #unsubscribe: () => void;

  constructor(parts: LogEventsParts) {
    const { bus, log, clock = processClock, onFault } = parts;
    const { onUnread = () => {} } = parts;
    this.#bus = bus;
    this.#clock = clock;
    this.#onFault = onFault;
    this.#follower = new Follower(clock, log, {
      apply: (entry) => {
        this.#deliver(entry);
        this.#reached(entry);
      },
      reset: (world) => this.#deliver({ type: "world.reset", world }),
      failed: onUnread,
    });
    this.#unsubscribe = bus.subscribe((message) => this.#receive(message));
  }

  get process(): string {
    return this.#bus.process;
  }

  get isAlone(): boolean {
    return this.#bus.isAlone;
  }

  get others(): ReadonlySet<string> {
    return this.#bus.others;
  }

  async follow(world: string): Promise<void> {
    this.#bus.join(world);
    await this.#follower.follow(world);
  }

  unfollow(world: string): void {
    this.#bus.leave(world);
    this.#follower.unfollow(world);
  }

  join(world: string): void {
    this.#bus.join(world);
  }

  leave(world: string): void {
    this.#bus.leave(world);
  }

  isCurrent(world: string): boolean {
    return this.#follower.isCurrent(world, TRUST);
  }

  reached(world: string): number {
    return this.#follower.cursorOf(world)?.seq ?? 0;
  }

  get caughtUp(): number {
    return this.#follower.caughtUp;
  }

  /** The last entry of each followed world that this process applied or wrote. */
  seen(): ReadonlyMap<string, Position> {
    return this.#follower.seen();
  }

  /** Reads the new entries of a world, such as after a write in doubt. */
  look(world: string): void {
    this.#follower.look(world);
  }

  /**
   * Takes the entries of a transaction of this process, and publishes them to the others.
   * @returns a promise if some of them have to wait for entries of other processes. It
   *   resolves when they were applied, or after a moment.
   */
  took(hints: readonly Hint<Entry>[]): Promise<unknown> | undefined {
    const byWorld = new Map<string, Hint<Entry>[]>();
    for (const hint of hints) {
      const own = byWorld.get(hint.entry.world);
      if (own) own.push(hint);
      else byWorld.set(hint.entry.world, [hint]);
    }
    const late: Promise<void>[] = [];
    for (const [world, own] of byWorld) {
      this.#bus.publish({ type: "hints", world, hints: own });
      const cursor = this.#follower.cursorOf(world);
      const { entry } = own.at(-1)!;
      if (!cursor || cursor.seq >= entry.seq) continue;
      this.#follower.wrote(world, entry);
      late.push(this.#wait(world, entry.seq));
    }
    return late.length > 0 ? Promise.all(late) : undefined;
  }

  publish(message: SnapshotMessage): void {
    this.#bus.publish(message);
  }

  subscribe(listener: Listener, world?: string): () => void {
    // A new function, so that the same listener may subscribe twice.
    const own: Listener = (event) => listener(event);
    if (world === undefined) {
      this.#listeners.add(own);
      return () => void this.#listeners.delete(own);
    }
    const listeners = this.#ofWorlds.get(world) ?? new Set();
    this.#ofWorlds.set(world, listeners.add(own));
    return () => {
      listeners.delete(own);
      if (listeners.size > 0 || this.#ofWorlds.get(world) !== listeners) return;
      this.#ofWorlds.delete(world);
    };
  }

  async close(): Promise<void> {
    this.#unsubscribe();
    this.#follower.close();
    this.#listeners.clear();
    this.#ofWorlds.clear();
    for (const waiting of this.#waiting.values()) {
      for (const { resolve } of waiting) resolve();
    }
    await this.#bus.close();
  }

  #receive(message: BusMessage): void {
    if (message.type !== "hints") return this.#deliver(message);
    for (const hint of message.hints) this.#follower.hint(hint);
  }

  /** Listeners get the present event before any that come while they run. */
  #deliver(event: AnyEvent): void {
    if (this.#due.push(event) > 1) return;
    // It grows meanwhile.
    for (const next of this.#due) {
      this.#give(next, this.#listeners);
      if (this.#ofWorlds.size === 0 || !("world" in next)) continue;
      const listeners = this.#ofWorlds.get(next.world!);
      if (listeners) this.#give(next, listeners);
    }
    this.#due.length = 0;
  }

  #give(event: AnyEvent, listeners: Iterable<Listener>): void {
    for (const listener of listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#onFault(error);
      }
    }
  }

  /** Waits until an entry of this process was applied. Earlier ones are in the log and can be read. */
  #wait(world: string, seq: number): Promise<void> {
    this.#follower.look(world);
    return new Promise((resolve) => {
      let waiting = this.#waiting.get(world);
      if (!waiting) this.#waiting.set(world, (waiting = new Set()));
      const stop = this.#clock.after(PATIENCE, () => own.resolve());
      const own: Waiting = {
        seq,
        resolve: () => {
          stop();
          waiting.delete(own);
          if (waiting.size === 0) this.#waiting.delete(world);
          resolve();
        },
      };
      waiting.add(own);
    });
  }

  #reached({ world, seq }: Entry): void {
    for (const waiting of this.#waiting.get(world) ?? []) {
      if (waiting.seq <= seq) waiting.resolve();
    }
  }
}
