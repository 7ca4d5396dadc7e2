import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, openSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { holdLock } from "../local/process-lock.js";

const PREFIX = "foyer.db.erasing-";

/**
 * Marks on the disk that erased bytes may still be in the files of the database.
 * A mark is locked for as long as the process lives that will see to it; one of
 * a dead process is seen to by whoever finds it.
 */
export class ErasureMarks {
  readonly #dataDir: string;
  /** The marks that are ours, and how to let go of them. */
  readonly #held = new Map<string, () => void>();

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /** Whether there is something to be done. */
  get due(): boolean {
    return this.#held.size > 0;
  }

  /** Takes over the marks of the dead. */
  adopt(): void {
    for (const name of marksIn(this.#dataDir)) this.#hold(name);
  }

  /** Leaves a mark that a power cut, too, does not take away. */
  begin(): void {
    if (this.due) return;
    this.#hold(PREFIX + randomUUID());
    if (process.platform === "win32") return;
    const folder = openSync(this.#dataDir, "r");
    fsyncSync(folder);
    closeSync(folder);
  }

  /** Nothing erased is left. */
  end(): void {
    for (const [name, release] of this.#held) {
      rmSync(join(this.#dataDir, name), { force: true });
      release();
    }
    this.#held.clear();
  }

  #hold(name: string): void {
    const release = holdLock(join(this.#dataDir, name));
    if (release) this.#held.set(name, release);
  }
}

/** The names of all marks. */
export const marksIn = (dataDir: string): string[] =>
  readdirSync(dataDir).filter((name) => name.startsWith(PREFIX));
