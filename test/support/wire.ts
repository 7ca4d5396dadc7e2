import type { BusMessage } from "../../db/bus/bus.js";
import type { AnyEvent, StoreListener } from "../../db/contract/events.js";
import { type SnapshotBus, Snapshots } from "../../live/people/snapshots.js";
import { ProcessTime, Timeline } from "../protocol/simulation/timeline.js";

/** A process on a {@link Wire}. */
export interface WiredProcess {
  readonly clock: ProcessTime;
  readonly snapshots: Snapshots;
  /** Delivers an event to it. */
  hear(event: AnyEvent): void;
  /** Ends it abruptly. @param silently whether the others receive no notification and must find out. */
  kill(silently?: boolean): void;
}

/**
 * Processes in simulated time. A published message reaches the other processes that joined its
 * world a moment later.
 */
export class Wire {
  readonly #timeline = new Timeline();
  readonly #processes = new Map<string, { process: WiredProcess; joined: Set<string> }>();
  /** Replaces each message on its way to other processes. By default, messages are unchanged. */
  link: (message: BusMessage) => BusMessage[] = (message) => [message];

  start(name: string): WiredProcess {
    const joined = new Set<string>();
    const listeners = new Set<StoreListener>();
    const clock = new ProcessTime(this.#timeline);
    const hear = (event: AnyEvent) =>
      clock.whenAwake(() => listeners.forEach((listener) => listener(event)));
    const others = new Set(this.#processes.keys());
    const events: SnapshotBus = {
      process: name,
      isAlone: false,
      others,
      publish: (message) => {
        hear(message);
        for (const each of this.link(message)) this.#send(name, each);
      },
      subscribe: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      join: (world) => void joined.add(world),
      leave: (world) => void joined.delete(world),
    };
    const process: WiredProcess = {
      clock,
      snapshots: new Snapshots(events, clock),
      hear: (event) => {
        if (event.type === "process.began") others.add(event.process);
        else if (event.type === "process.ended") others.delete(event.process);
        hear(event);
      },
      kill: (silently = false) => {
        clock.end();
        this.#processes.delete(name);
        if (silently) return;
        for (const other of this.#processes.values()) {
          other.process.hear({ type: "process.ended", process: name });
        }
      },
    };
    for (const other of this.#processes.values()) {
      other.process.hear({ type: "process.began", process: name });
    }
    this.#processes.set(name, { process, joined });
    return process;
  }

  /** Advances the time by a duration, in milliseconds. */
  async wait(duration: number): Promise<void> {
    await this.#timeline.runUntil(this.#timeline.now + duration);
  }

  #send(from: string, message: BusMessage): void {
    const text = JSON.stringify(message);
    const world = "world" in message ? message.world : undefined;
    for (const [name, { process, joined }] of this.#processes) {
      if (name === from) continue;
      this.#timeline.at(this.#timeline.now + 1, () => {
        if (world !== undefined && !joined.has(world)) return;
        process.hear(JSON.parse(text) as AnyEvent);
      });
    }
  }
}
