import type { Clock } from "../../../db/log/clock.js";
import { Copy } from "./copy.js";
import type { Report } from "./messages.js";

/** A process that was silent for so long has ended, in milliseconds. */
export const TIME_TO_LIVE = 4000;

/** How long missing changes may be on their way until a process asks for them, in milliseconds. */
const PATIENCE = 50;

/** How long a process waits for an answer until it asks again, in milliseconds. */
const ASK_PAUSE = 500;

/** How many processes are known in a scope at most. */
const MAX_PROCESSES = 1000;

/**
 * Why an item is gone: its process deleted it, or has ended or is silent, or this process
 * follows the scope no longer.
 */
export type Gone = "deleted" | "ended" | "unfollowed";

interface CopiesParts {
  readonly clock: Clock;
  readonly put: (process: string, key: string, value: unknown) => void;
  readonly gone: (process: string, key: string, why: Gone) => void;
  /** Asks a process for its changes after a version. */
  readonly ask: (process: string, since: number) => void;
}

/** Another process. */
interface Known {
  readonly copy: Copy;
  heardAt: number;
  isAsking: boolean;
  /** When this process may ask it again. */
  askAt: number;
}

/** The items of other processes in one scope. */
export class Copies {
  readonly #parts: CopiesParts;
  readonly #known = new Map<string, Known>();

  constructor(parts: CopiesParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#known.size;
  }

  /** The names of the processes. */
  get processes(): Iterable<string> {
    return this.#known.keys();
  }

  /** @param time for how long this process has run, in milliseconds. */
  hear(report: Report, time: number): void {
    const { process } = report;
    if (report.kind === "bye") return this.end(process, "deleted");
    const known = this.#of(process);
    if (!known) return;
    const { copy } = known;
    known.heardAt = time;
    if (report.kind === "beat") copy.hear(report.version);
    else if (report.kind === "changes") copy.change(report);
    else if (report.kind === "whole") {
      copy.take(report);
      known.askAt = this.#parts.clock.now() + ASK_PAUSE;
    }
    if (copy.isBehind && !known.isAsking) this.#askLater(process, known);
  }

  /** Whether the copy has everything that a process has announced. */
  isWhole(process: string): boolean {
    return !this.#known.get(process)?.copy.isBehind;
  }

  /** Forgets the processes that were silent for too long. */
  endSilent(time: number): void {
    for (const [process, { heardAt }] of this.#known) {
      if (time - heardAt >= TIME_TO_LIVE) this.end(process, "ended");
    }
  }

  /** Forgets a process. */
  end(process: string, why: Gone): void {
    const known = this.#known.get(process);
    this.#known.delete(process);
    for (const key of known?.copy.clear() ?? []) {
      this.#parts.gone(process, key, why);
    }
  }

  /** Forgets all processes. */
  clear(): void {
    for (const process of this.#known.keys()) this.end(process, "unfollowed");
  }

  #of(process: string): Known | undefined {
    const before = this.#known.get(process);
    if (before || this.#known.size >= MAX_PROCESSES) return before;
    const copy = new Copy({
      put: (key, value) => this.#parts.put(process, key, value),
      gone: (key) => this.#parts.gone(process, key, "deleted"),
    });
    const known = { copy, heardAt: 0, isAsking: false, askAt: 0 };
    this.#known.set(process, known);
    return known;
  }

  #askLater(process: string, known: Known): void {
    const { clock, ask } = this.#parts;
    known.isAsking = true;
    const pause = Math.max(PATIENCE, known.askAt - clock.now());
    clock.after(pause, () => {
      known.isAsking = false;
      if (this.#known.get(process) !== known || !known.copy.isBehind) return;
      // An answer has begun meanwhile.
      if (clock.now() < known.askAt) return this.#askLater(process, known);
      known.askAt = clock.now() + ASK_PAUSE;
      ask(process, known.copy.known);
    });
  }
}
