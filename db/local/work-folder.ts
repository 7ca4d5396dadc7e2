import { randomUUID } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { asStoreError, syncFolder, unlessMissing, unlinked, write } from "./disk.js";
import { holdLock } from "./locked-folder.js";

/**
 * The folder for the unfinished files of one process. A lock beside it tells
 * whether its process is alive. It is created before the folder and deleted after it.
 */
export class WorkFolder {
  readonly path: string;
  readonly #root: string;
  #lock: Promise<() => void> | undefined;

  /** @param dataDir has the work folders of all processes in `work`. */
  constructor(dataDir: string) {
    this.#root = resolve(dataDir, "work");
    this.path = join(this.#root, randomUUID());
  }

  /**
   * A path in the folder, which exists from then on.
   * @throws {StoreError} `full` or `unusable`.
   */
  async newPath(): Promise<string> {
    this.#lock ??= this.#make();
    await asStoreError(() => this.#lock!).catch((error: unknown) => {
      // The fault may be temporary, so the next call tries again.
      this.#lock = undefined;
      throw error;
    });
    return join(this.path, randomUUID());
  }

  /** Keeps bytes in a file, which is deleted when `use` ends. */
  async withScratch<T>(
    source: AsyncIterable<Uint8Array>,
    use: (path: string) => Promise<T>,
  ): Promise<T> {
    const path = await this.newPath();
    try {
      await write(path, source);
      return await use(path);
    } finally {
      await unlinked(path);
    }
  }

  /** The work folders of all processes, alive and dead. */
  async all(): Promise<string[]> {
    const entries = await unlessMissing(() => readdir(this.#root, { withFileTypes: true }), []);
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(this.#root, name));
  }

  /**
   * Removes the folders of dead processes.
   * @param settle what has to be done before one is removed.
   */
  async sweep(settle: (folder: string) => Promise<void>): Promise<void> {
    for (const folder of await this.all()) {
      const release = holdLock(`${folder}.lock`);
      if (!release) continue;
      try {
        await settle(folder);
        await rm(folder, { recursive: true, force: true });
        await unlinked(`${folder}.lock`);
      } finally {
        release();
      }
    }
  }

  /**
   * Releases the folder.
   * @param hasRemains whether something in it is for the next sweep.
   */
  async close(hasRemains: (names: string[]) => boolean = () => false): Promise<void> {
    const release = await this.#lock?.catch(() => undefined);
    if (!release) return;
    const names = await unlessMissing(() => readdir(this.path), []);
    if (!hasRemains(names)) {
      await rm(this.path, { recursive: true, force: true });
      await unlinked(`${this.path}.lock`);
    }
    release();
  }

  async #make(): Promise<() => void> {
    await mkdir(this.#root, { recursive: true, mode: 0o700 });
    await syncFolder(dirname(this.#root));
    const release = holdLock(`${this.path}.lock`);
    if (!release) throw new Error(`${this.path}.lock is held by another`);
    try {
      await mkdir(this.path, { recursive: true, mode: 0o700 });
      await syncFolder(this.#root);
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }
}
