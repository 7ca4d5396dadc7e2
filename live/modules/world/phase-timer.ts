import type { WorldStore } from "../../../db/contract/store.js";
import { type Clock, detach } from "../../../db/runtime.js";
import { nextPhaseChange } from "../../../schemas/plain/access.js";

/** Maximum duration of a timer, in milliseconds: the machine's clock may be changed while the timer runs. */
const MAX_TIMER_MS = 60_000;

/** Delay before a failed read of a world is retried, in milliseconds. */
const RETRY_MS = 300;

/** Ports of the phase timer. */
export interface PhaseTimerPorts {
  readonly clock: Clock;
  readonly store: { readonly worlds: Pick<WorldStore, "get"> };
}

/** A world with connections. */
interface Watched {
  /** Counts the reads of the world. Only the latest read sets the timer. */
  reads: number;
  stopTimer: () => void;
}

/**
 * Detects when an event opens or closes because of the time. Each world with connections has one
 * timer.
 */
export class PhaseTimer {
  readonly #ports: PhaseTimerPorts;
  readonly #onChange: (world: string) => void;
  readonly #watched = new Map<string, Watched>();

  /** @param onChange called when the phase of a world has changed. */
  constructor(ports: PhaseTimerPorts, onChange: (world: string) => void) {
    this.#ports = ports;
    this.#onChange = onChange;
  }

  watch(world: string): void {
    if (this.#watched.has(world)) return;
    this.#watched.set(world, { reads: 0, stopTimer: () => {} });
    this.look(world);
  }

  unwatch(world: string): void {
    this.#watched.get(world)?.stopTimer();
    this.#watched.delete(world);
  }

  close(): void {
    for (const world of [...this.#watched.keys()]) this.unwatch(world);
  }

  /** Resets the timer of a world with connections. Must be called after the world has changed. */
  look(world: string): void {
    const watched = this.#watched.get(world);
    if (watched) detach(this.#look(world, watched, ++watched.reads));
  }

  async #look(world: string, watched: Watched, read: number): Promise<void> {
    const { clock, store } = this.#ports;
    const found = await store.worlds.get(world).catch(() => "unread" as const);
    const isPresent = this.#watched.get(world) === watched && watched.reads === read;
    if (!isPresent) return;
    watched.stopTimer();
    if (found === "unread") {
      watched.stopTimer = clock.after(RETRY_MS, () => this.look(world));
      return;
    }
    const now = clock.date();
    const due = found && nextPhaseChange(found.value.config, now);
    if (due === undefined) return;
    watched.stopTimer = clock.after(Math.min(due - now, MAX_TIMER_MS), () => {
      if (clock.date() >= due) this.#onChange(world);
      this.look(world);
    });
  }
}
