import type { BusMessage, LiveMessage } from "../../db/bus/bus.js";
import type { Listener } from "../../db/contract/events.js";
import type { ReplicaBus } from "../../live/people/replica/replica.js";
import type { Random } from "./random.js";
import type { ProcessTime, Timeline } from "./timeline.js";

/** The faults of the bus, each as a probability. */
export interface Faults {
  lost: number;
  doubled: number;
  late: number;
}

export const NO_FAULTS: Faults = { lost: 0, doubled: 0, late: 0 };

/** @returns faults of any kind, most of them seldom. */
export function faultsOf(random: Random): Faults {
  const some = () => (random.chance(0.5) ? random.next() ** 2 : 0);
  return { lost: some(), doubled: some(), late: some() };
}

interface Attached {
  readonly time: ProcessTime;
  readonly joined: Set<string>;
  listener: Listener;
}

/** Carries messages between simulated processes, and loses, doubles and delays some. */
export class FaultyBus {
  faults = NO_FAULTS;
  /** How many messages have arrived. */
  arrived = 0;
  readonly #timeline: Timeline;
  readonly #random: Random;
  readonly #processes = new Map<string, Attached>();

  constructor(timeline: Timeline, random: Random) {
    this.#timeline = timeline;
    this.#random = random;
  }

  /** The bus of a new process. */
  attach(name: string, time: ProcessTime): ReplicaBus {
    const attached: Attached = { time, joined: new Set(), listener: () => {} };
    this.#processes.set(name, attached);
    return {
      process: name,
      publish: (message) => this.#send(name, message),
      subscribe: (listener) => {
        attached.listener = listener;
        return () => {};
      },
      join: (scope) => void attached.joined.add(scope),
      leave: (scope) => void attached.joined.delete(scope),
    };
  }

  /** A process ends without a word. */
  kill(name: string): void {
    this.#processes.get(name)?.time.end();
    this.#processes.delete(name);
  }

  /** The others hear that a process has ended, whether it has or not. */
  end(name: string, delay: number): void {
    for (const [other, { time, listener }] of this.#processes) {
      if (other === name) continue;
      this.#timeline.at(this.#timeline.now + delay, () =>
        time.whenAwake(() =>
          listener({ type: "process.ended", process: name }),
        ),
      );
    }
  }

  #send(from: string, message: BusMessage): void {
    const text = JSON.stringify(message);
    for (const [name, process] of this.#processes) {
      if (name === from) continue;
      const { doubled, lost, late } = this.faults;
      const copies = this.#random.chance(doubled) ? 2 : 1;
      for (let i = 0; i < copies; i++) {
        if (this.#random.chance(lost)) continue;
        const longest = this.#random.chance(late) ? 3_000 : 5;
        const delay = this.#random.between(0, longest);
        this.#timeline.at(this.#timeline.now + delay, () =>
          this.#deliver(process, text),
        );
      }
    }
  }

  #deliver({ time, joined, listener }: Attached, text: string): void {
    const message = JSON.parse(text) as LiveMessage;
    if (message.world !== undefined && !joined.has(message.world)) return;
    this.arrived++;
    time.whenAwake(() => listener(message));
  }
}
