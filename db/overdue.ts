/** Takes lines about maintenance, such as a log of the server. */
export interface MaintenanceLog {
  info(line: string): void;
  error(line: string): void;
}

/** After how long an erasure that keeps failing is an error in the log, in milliseconds. */
const OVERDUE_MS = 60_000;

/** How often that is repeated, in milliseconds. */
const REPEAT_MS = 60 * 60_000;

/**
 * Reports erasures that keep failing. Their callers were told that they succeeded, so nobody else
 * would learn that erased data is still there.
 */
export class OverdueErasures {
  readonly #log: MaintenanceLog | undefined;
  readonly #overdueAfter: number;
  #since: number | undefined;
  #reported: number | undefined;

  constructor(log: MaintenanceLog | undefined, overdueAfter = OVERDUE_MS) {
    this.#log = log;
    this.#overdueAfter = overdueAfter;
  }

  /** An attempt failed. @param now as `performance.now` gives it. */
  failed(reason: unknown, now = performance.now()): void {
    this.#since ??= now;
    if (now - this.#since < this.#overdueAfter) return;
    if (now - (this.#reported ?? -Infinity) < REPEAT_MS) return;
    this.#reported = now;
    const seconds = Math.round((now - this.#since) / 1000);
    const message = reason instanceof Error ? reason.message : String(reason);
    this.#log?.error(
      `Erased data has been in the files of the database for ${seconds} seconds: ${message}`,
    );
  }

  /** Nothing erased is left. */
  succeeded(): void {
    if (this.#reported !== undefined) {
      this.#log?.info("Erased data has left the files of the database.");
    }
    this.#since = this.#reported = undefined;
  }
}
