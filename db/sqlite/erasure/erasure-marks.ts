import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, openSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { holdLock } from "../../local/process-lock.js";

const PREFIX = "foyer.db.erasing-";

/**
 * Marks on the disk that say: erased bytes may still be in the files of the
 * database. The process that will scrub them holds a lock on its mark. The mark
 * of a dead process is adopted by the next one that finds it.
 */
export class ErasureMarks {
  readonly #dataDir: string;
  /** The marks of this process, with the functions that release their locks. */
  readonly #held = new Map<string, () => void>();

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /** How many this process holds. */
  get count(): number {
    return this.#held.size;
  }

  /** Whether this process has something to scrub. */
  get due(): boolean {
    return this.count > 0;
  }

  /** Adopts the marks of dead processes. */
  adopt(): void {
    for (const name of marksIn(this.#dataDir)) {
      if (!this.#held.has(name)) this.#hold(name);
    }
  }

  /** Makes a mark that survives a power cut. */
  begin(): void {
    if (this.due) return;
    this.#hold(PREFIX + randomUUID());
    if (process.platform === "win32") return;
    const folder = openSync(this.#dataDir, "r");
    fsyncSync(folder);
    closeSync(folder);
  }

  /** Removes the marks, because nothing erased is left. */
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
