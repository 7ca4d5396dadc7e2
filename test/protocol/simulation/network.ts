import {
  type Bus,
  type BusListener,
  type BusMessage,
  type HintMessage,
  LocalBus,
  type SnapshotMessage,
} from "../../../db/bus/bus.js";
import type { Random } from "./random.js";
import type { ProcessTime, Timeline } from "./timeline.js";

/** Faults of messages between processes, each as a probability. */
export interface BusFaults {
  lost: number;
  doubled: number;
  late: number;
}

/** Silence after which others consider a process to have ended, in milliseconds. */
const SILENCE = 5_000;

/** Carries the messages of all processes, and announces which processes are present. */
export class Network {
  readonly #timeline: Timeline;
  readonly #random: Random;
  readonly #faults: () => BusFaults;
  readonly #buses = new Set<SimulatedBus>();

  constructor(timeline: Timeline, random: Random, faults: () => BusFaults) {
    this.#timeline = timeline;
    this.#random = random;
    this.#faults = faults;
  }

  attach(bus: SimulatedBus): void {
    for (const other of this.#buses) {
      this.#note(other, { type: "process.began", process: bus.process }, 20);
      this.#note(bus, { type: "process.began", process: other.process }, 20);
    }
    this.#buses.add(bus);
  }

  /** Detaches a process that has ended. The others notice some time later. */
  detach(bus: SimulatedBus): void {
    if (!this.#buses.delete(bus)) return;
    const delay = this.#random.between(50, SILENCE);
    for (const other of this.#buses) this.#ended(other, bus, delay);
  }

  /** Handles the pause of a process. If the pause is long, others consider the process to have ended. */
  paused(bus: SimulatedBus, duration: number): void {
    if (duration < SILENCE) return;
    for (const other of this.#buses) {
      if (other === bus) continue;
      this.#ended(other, bus, SILENCE);
      this.#ended(bus, other, duration);
      const { process } = bus;
      this.#note(other, { type: "process.began", process }, duration + 20);
      const began = { type: "process.began", process: other.process } as const;
      this.#note(bus, began, duration + 20);
    }
  }

  send(from: SimulatedBus, message: SnapshotMessage | HintMessage): void {
    const { lost, doubled, late } = this.#faults();
    const random = this.#random;
    for (const bus of this.#buses) {
      if (bus === from) continue;
      const copies = random.chance(doubled) ? 2 : 1;
      for (let i = 0; i < copies; i++) {
        if (random.chance(lost)) continue;
        const delay = random.between(0, random.chance(late) ? 3_000 : 3);
        this.#timeline.at(this.#timeline.now + delay, () => bus.receive(message));
      }
    }
  }

  #ended(bus: SimulatedBus, { process }: SimulatedBus, delay: number): void {
    this.#note(bus, { type: "process.ended", process }, delay);
  }

  #note(bus: SimulatedBus, message: BusMessage, delay: number): void {
    this.#timeline.at(this.#timeline.now + delay, () => bus.receive(message));
  }
}

/** The bus of one process. */
export class SimulatedBus implements Bus {
  readonly process: string;
  readonly isAlone = false;
  readonly #network: Network;
  readonly #time: ProcessTime;
  readonly #local: LocalBus;
  /** Number of joins, by world. */
  readonly #joined = new Map<string, number>();

  constructor(
    network: Network,
    time: ProcessTime,
    name: string,
    onFault: (error: unknown) => void,
  ) {
    this.process = name;
    this.#network = network;
    this.#time = time;
    this.#local = new LocalBus(onFault, name);
    network.attach(this);
  }

  get others(): ReadonlySet<string> {
    return this.#local.others;
  }

  publish(message: SnapshotMessage | HintMessage): void {
    if (this.#time.isOver) return;
    this.#local.publish(message);
    this.#network.send(this, message);
  }

  /** Delivers a message from another process. */
  receive(message: BusMessage): void {
    const world = "world" in message ? message.world : undefined;
    if (world !== undefined && !this.#joined.has(world)) return;
    this.#time.whenAwake(() => this.#local.publish(message));
  }

  subscribe(listener: BusListener): () => void {
    return this.#local.subscribe(listener);
  }

  join(world: string): void {
    this.#joined.set(world, (this.#joined.get(world) ?? 0) + 1);
  }

  leave(world: string): void {
    const left = (this.#joined.get(world) ?? 0) - 1;
    if (left > 0) this.#joined.set(world, left);
    else this.#joined.delete(world);
  }

  close(): Promise<void> {
    return this.#local.close();
  }
}
