import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import {
  mkdir,
  readdir,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
} from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import {
  asStoreError,
  readPart,
  readText,
  syncFolder,
  unlessMissing,
  unlinked,
  write,
} from "./disk.js";
import type { FileStore, StoredBytes, ReadableFile } from "../files.js";
import { holdLock } from "./process-lock.js";
import { StoreError } from "../store.js";

const NOTE = ".note";

const isNote = (name: string) => name.endsWith(NOTE);

/** The name of the note of one key, and back. It is encoded, because a key contains slashes. */
const noteOf = (key: string) => `${encodeURIComponent(key)}${NOTE}`;
const keyIn = (note: string) => decodeURIComponent(note.slice(0, -NOTE.length));

/** Whether a write may or may not have happened. Then the note stays. */
const isDoubtful = (error: unknown) =>
  error instanceof StoreError && error.problem === "doubtful";

/**
 * Files in a folder. Each process writes in a work folder of its own, beside the
 * folder of files. A file is written there until it is complete. Notes there name
 * the files that are in place but not yet recorded, and those that are about to
 * be deleted. So the remains of a crash are found by reading the notes, and not by
 * reading all files. A lock beside the work folder tells whether its process is
 * alive. It is created before the folder and deleted after it.
 */
export class LocalFiles implements FileStore {
  /** The folder of all files. */
  readonly root: string;
  readonly #workRoot: string;
  readonly #work: string;
  readonly #settled = new Set<string>();
  #lock: Promise<() => void> | undefined;

  /** @param dataDir has the files in `media`, by their keys, and the work folders in `work`. */
  constructor(dataDir: string) {
    this.root = resolve(dataDir, "media");
    this.#workRoot = resolve(dataDir, "work");
    mkdirSync(this.root, { recursive: true, mode: 0o700 });
    this.#work = join(this.#workRoot, randomUUID());
  }

  async put(
    key: string,
    source: AsyncIterable<Uint8Array>,
    record: (stored: StoredBytes) => Promise<void>,
  ): Promise<void> {
    const path = join(this.root, key);
    const part = await this.#newPath();
    const note = join(this.#work, noteOf(key));
    let inPlace = false;
    try {
      const [noted, written] = await Promise.allSettled([
        asStoreError(async () => {
          await mkdir(note);
          // The note must survive a power cut as well as the file does.
          await syncFolder(this.#work);
        }),
        write(part, source),
      ]);
      if (noted.status === "rejected") throw noted.reason;
      if (written.status === "rejected") throw written.reason;
      await asStoreError(async () => {
        await this.#move(part, path);
        await syncFolder(dirname(path));
      });
      inPlace = true;
      await record(written.value);
    } catch (error) {
      await unlinked(part);
      if (!(inPlace && isDoubtful(error))) {
        await unlinked(path);
        await unlessMissing(() => rmdir(note), undefined);
      }
      throw error;
    }
    await unlessMissing(() => rmdir(note), undefined);
  }

  async open(key: string): Promise<ReadableFile | undefined> {
    const path = join(this.root, key);
    const found = await unlessMissing(() => stat(path), undefined);
    if (!found?.isFile()) return undefined;
    const { size, mtime: modified } = found;
    return {
      size,
      modified,
      read: (range = { start: 0, end: size - 1 }) => readPart(path, range),
    };
  }

  async remove(key: string): Promise<void> {
    await unlinked(join(this.root, key));
  }

  async discard(
    keys: readonly string[],
    forget: () => Promise<readonly string[]>,
  ): Promise<void> {
    const note = `${await this.#newPath()}${NOTE}`;
    let forgotten: readonly string[];
    try {
      await asStoreError(async () => {
        await writeFile(note, keys.join("\n"), { flush: true });
        await syncFolder(this.#work);
      });
      forgotten = await forget();
    } catch (error) {
      if (!isDoubtful(error)) await unlinked(note);
      throw error;
    }
    // If this fails, the note stays, and the next sweep continues.
    for (const key of forgotten) await this.remove(key);
    await unlinked(note);
  }

  /** The keys of all files in place. */
  async *keys(): AsyncGenerator<string> {
    const folders = [""];
    for (let folder; (folder = folders.pop()) !== undefined;) {
      const path = join(this.root, folder);
      const entries = await unlessMissing(
        () => readdir(path, { withFileTypes: true }),
        [],
      );
      for (const entry of entries) {
        const key = folder + entry.name;
        if (entry.isDirectory()) folders.push(`${key}/`);
        else yield key;
      }
    }
  }

  /** The keys that some process is about to record or to remove. */
  async unsettled(): Promise<Set<string>> {
    const keys = new Set<string>();
    for (const folder of await this.#workFolders()) {
      for (const key of await notedIn(folder)) keys.add(key);
    }
    return keys;
  }

  async withScratch<T>(
    source: AsyncIterable<Uint8Array>,
    use: (path: string) => Promise<T>,
  ): Promise<T> {
    const path = await this.#newPath();
    try {
      await write(path, source);
      return await use(path);
    } finally {
      await unlinked(path);
    }
  }

  async sweep(isRecorded: (key: string) => Promise<boolean>): Promise<void> {
    for (const folder of await this.#workFolders()) {
      const release = holdLock(`${folder}.lock`);
      if (!release) continue;
      try {
        for (const key of await notedIn(folder)) {
          if (!(await isRecorded(key))) await this.remove(key);
        }
        await rm(folder, { recursive: true, force: true });
        await unlinked(`${folder}.lock`);
      } finally {
        release();
      }
    }
  }

  /** Releases the work folder. Notes that are left in it are for the next sweep. */
  async close(): Promise<void> {
    const release = await this.#lock?.catch(() => undefined);
    if (!release) return;
    const names = await namesIn(this.#work);
    if (!names.some(isNote)) {
      await rm(this.#work, { recursive: true, force: true });
      await unlinked(`${this.#work}.lock`);
    }
    release();
  }

  /** Moves a file into a folder, and creates the folder if needed. */
  async #move(from: string, to: string): Promise<void> {
    const folder = dirname(to);
    // Once in each process: another one may have created it and crashed before the sync.
    if (!this.#settled.has(folder)) await this.#makeFolder(folder);
    try {
      await rename(from, to);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      // Somebody removed the folder.
      await this.#makeFolder(folder);
      await rename(from, to);
    }
  }

  /** Creates a folder that survives a power cut. */
  async #makeFolder(path: string): Promise<void> {
    await mkdir(path, { recursive: true, mode: 0o700 });
    for (let at = path; at !== dirname(this.root); at = dirname(at)) {
      await syncFolder(dirname(at));
    }
    this.#settled.add(path);
  }

  /** The work folders of all processes, alive and dead. */
  async #workFolders(): Promise<string[]> {
    const entries = await unlessMissing(
      () => readdir(this.#workRoot, { withFileTypes: true }),
      [],
    );
    return entries
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(this.#workRoot, name));
  }

  async #newPath(): Promise<string> {
    this.#lock ??= this.#makeWork();
    await asStoreError(() => this.#lock!).catch((error: unknown) => {
      // The fault may be temporary, so the next call tries again.
      this.#lock = undefined;
      throw error;
    });
    return join(this.#work, randomUUID());
  }

  async #makeWork(): Promise<() => void> {
    await mkdir(this.#workRoot, { recursive: true, mode: 0o700 });
    await syncFolder(dirname(this.#workRoot));
    const release = holdLock(`${this.#work}.lock`);
    if (!release) throw new Error(`${this.#work}.lock is held by another`);
    try {
      await mkdir(this.#work, { recursive: true, mode: 0o700 });
      await syncFolder(this.#workRoot);
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }
}

/**
 * The keys in the notes of a work folder. The note of one key is an empty folder
 * with the key as its name, because that is created in one step. The note of
 * several keys is a file with one key on each line.
 */
async function notedIn(folder: string): Promise<string[]> {
  const entries = await unlessMissing(
    () => readdir(folder, { withFileTypes: true }),
    [],
  );
  const keys = entries
    .filter(({ name }) => isNote(name))
    .map(async (entry) => {
      const { name } = entry;
      if (entry.isDirectory()) return [keyIn(name)];
      const text = await readText(join(folder, name));
      return text.split("\n").filter((key) => key !== "");
    });
  return (await Promise.all(keys)).flat();
}

const namesIn = (folder: string): Promise<string[]> =>
  unlessMissing(() => readdir(folder), []);
