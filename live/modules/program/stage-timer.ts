import type { Program, ProgramStore } from "../../../db/contract/program-store.js";
import type { Clock } from "../../../db/runtime.js";
import type { Pushes } from "../../delivery/push.js";
import { nextStage, type Stages, stagesOf } from "../../rules/world-state.js";

/**
 * The longest time that a timer waits, in milliseconds. Someone may set the clock of the machine
 * meanwhile.
 */
const LONGEST_WAIT = 10 * 60 * 1000;

/** The ports of the stages. */
export interface StageTimerPorts {
  readonly clock: Clock;
  readonly store: { readonly program: ProgramStore };
  readonly pushes: Pushes;
  /** A room shows something else now: tells the people of the world. */
  readonly scheduled: (world: string, room: string) => void;
}

/** A world with connections. */
interface Watched {
  /** The program as it was read last. */
  program: Program | undefined;
  /** Whether a look is due that has not begun yet. */
  looks: boolean;
  /** What its rooms show, as it was pushed last. */
  stages: Stages;
  /** The rooms of which a login showed something else. */
  readonly doubted: Set<string>;
  /** Rejects if that could not be read. */
  loaded: Promise<void>;
  stopTimer: () => void;
}

/** The rooms of all of these, each once. */
const roomsOf = (...all: { keys(): Iterable<string> }[]) =>
  new Set(all.flatMap((each) => [...each.keys()]));

/** Notices when sessions begin and end. Each world with connections has one timer. */
export class StageTimer {
  readonly #ports: StageTimerPorts;
  readonly #watched = new Map<string, Watched>();

  constructor(ports: StageTimerPorts) {
    this.#ports = ports;
  }

  close(): void {
    for (const { stopTimer } of this.#watched.values()) stopTimer();
  }

  /** The first connection comes into a world. */
  async watch(world: string): Promise<void> {
    let watched = this.#watched.get(world);
    if (!watched) {
      watched = {
        program: undefined,
        looks: false,
        stages: new Map(),
        doubted: new Set(),
        loaded: Promise.resolve(),
        stopTimer: () => {},
      };
      this.#watched.set(world, watched);
      watched.loaded = this.#load(world, watched);
    }
    await watched.loaded;
  }

  async #load(world: string, watched: Watched): Promise<void> {
    try {
      watched.stages = await this.#read(world, watched);
    } catch (error) {
      if (this.#watched.get(world) === watched) this.#watched.delete(world);
      throw error;
    }
  }

  /** The program of a watched world as it was read last. */
  programOf(world: string): Program | undefined {
    return this.#watched.get(world)?.program;
  }

  /**
   * Notes what a login shows, and looks again if that is something else. The login may know
   * of a session whose entry comes here later, even after its end; or it goes by a state that
   * was read before a session ended, and no timer ran at the end.
   */
  shown(world: string, stages: Stages): void {
    const watched = this.#watched.get(world);
    if (!watched) return;
    const different = [...roomsOf(watched.stages, stages)].filter(
      (room) => watched.stages.get(room) !== stages.get(room),
    );
    if (different.length === 0) return;
    for (const room of different) watched.doubted.add(room);
    this.look(world);
  }

  /** The last connection left a world. */
  unwatch(world: string): void {
    this.#watched.get(world)?.stopTimer();
    this.#watched.delete(world);
  }

  /** The program may have changed, or time has passed: tells what is different. */
  look(world: string): void {
    const watched = this.#watched.get(world);
    // An import brings hundreds of entries at once.
    if (!watched || watched.looks) return;
    watched.looks = true;
    this.#ports.pushes.push({ world }, async () => {
      watched.looks = false;
      if (this.#watched.get(world) !== watched) return;
      await watched.loaded;
      const stages = await this.#read(world, watched);
      const before = watched.stages;
      watched.stages = stages;
      for (const room of roomsOf(before, stages, watched.doubted)) {
        const isSame = before.get(room) === stages.get(room);
        if (isSame && !watched.doubted.has(room)) continue;
        this.#ports.scheduled(world, room);
      }
      watched.doubted.clear();
    });
  }

  /** Reads what the rooms show now, and waits for the next change of that. */
  async #read(world: string, watched: Watched): Promise<Stages> {
    const { clock, store } = this.#ports;
    const program = await store.program.get(world);
    watched.program = program;
    const now = clock.date();
    const next = nextStage(program, now);
    watched.stopTimer();
    if (next !== undefined && this.#watched.get(world) === watched) {
      const wait = Math.min(next - now, LONGEST_WAIT);
      watched.stopTimer = clock.after(wait, () => this.look(world));
    }
    return stagesOf(program, now);
  }
}
