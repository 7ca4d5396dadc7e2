import { randomUUID } from "node:crypto";
import { access, type FileHandle, mkdir, mkdtemp, open, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import Database from "better-sqlite3";
import { asStoreError, syncFolder, unlessMissing, unlinked, write } from "./disk.js";

/**
 * The folder for one process's unfinished files. A lock next to the folder shows whether the
 * process is alive. The lock is created before the folder and deleted after the folder.
 */
export class WorkFolder {
  readonly path: string;
  readonly #root: string;
  #lock: Promise<() => void> | undefined;

  /** @param dataDir the folder whose `work` subfolder contains the work folders of all processes. */
  constructor(dataDir: string) {
    this.#root = resolve(dataDir, "work");
    this.path = join(this.#root, randomUUID());
  }

  /**
   * Returns a new path in the folder, creating the folder if necessary. @throws {StoreError} `full`
   * or `unusable`.
   */
  async newPath(): Promise<string> {
    this.#lock ??= this.#make();
    await asStoreError(() => this.#lock!).catch((error: unknown) => {
      // The failure may be temporary, so let the next call retry.
      this.#lock = undefined;
      throw error;
    });
    return join(this.path, randomUUID());
  }

  /** Writes bytes to a temporary file, which is deleted once `use` settles. */
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

  /** Returns the work folders of all processes, alive or dead. */
  async all(): Promise<string[]> {
    const entries = await unlessMissing(() => readdir(this.#root, { withFileTypes: true }), []);
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(this.#root, name));
  }

  /**
   * Removes the folders of dead processes.
   * @param settle called before a folder is removed.
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

  /** Releases the folder. @param hasRemains whether any of the named files must be left for the next sweep. */
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

/**
 * Acquires a lock that the operating system releases even if this process crashes: an SQLite file
 * lock. A process id would be less reliable, because ids are reused and have a different meaning in
 * another container.
 * @param path a file that serves only as a lock; created if missing.
 * @returns a function that releases the lock, or undefined if another process holds the lock.
 */
export function holdLock(path: string): (() => void) | undefined {
  const db = new Database(path, { timeout: 0 });
  try {
    // Nothing is ever written, so a journal file is unnecessary.
    db.pragma("journal_mode = MEMORY");
    db.exec("BEGIN EXCLUSIVE");
    return () => db.close();
  } catch (error) {
    db.close();
    if ((error as { code?: string }).code === "SQLITE_BUSY") return undefined;
    throw error;
  }
}

/** Matches the suffix that `mkdtemp` adds to a prefix. */
const RANDOM = /[A-Za-z0-9]{6}$/;
const LOCK = "backup.lock";

/**
 * Creates a temporary folder for copies of data, and removes it afterward. Also removes neighboring
 * folders left by killed processes, because they contain keys.
 * @param prefix the path of the folder, to which six characters are added.
 * @param isAlike whether a folder name, without these characters, belongs to such a folder.
 */
export async function withLockedFolder<T>(
  prefix: string,
  isAlike: (name: string) => boolean,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  await sweep(dirname(prefix), isAlike);
  const folder = await mkdtemp(prefix);
  const release = holdLock(join(folder, LOCK))!;
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
    release();
  }
}

async function sweep(folder: string, isAlike: (name: string) => boolean): Promise<void> {
  for (const name of await readdir(folder)) {
    const lock = join(folder, name, LOCK);
    const isTemporary = RANDOM.test(name) && isAlike(name.slice(0, -6));
    if (!isTemporary || !(await exists(lock))) continue;
    const release = holdLock(lock);
    if (!release) continue;
    await rm(join(folder, name), { recursive: true, force: true });
    release();
  }
}

export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/**
 * Copies bytes to an unlinked temporary file, so that a killed process leaves nothing behind. The
 * caller must close the file.
 */
export async function unnamedFile(bytes: AsyncIterable<Uint8Array | string>): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), "foyer-"));
  let file: FileHandle;
  try {
    file = await open(join(folder, "copy"), "wx+", 0o600);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  try {
    for await (const chunk of bytes) await file.appendFile(chunk);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}
