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

/** The name of the note of one key, and back: a key has slashes in it. */
const noteOf = (key: string) => `${encodeURIComponent(key)}${NOTE}`;
const keyIn = (note: string) => decodeURIComponent(note.slice(0, -NOTE.length));

/** Whether the store cannot tell if it did what it was asked: then a note is kept of it. */
const isDoubtful = (error: unknown) =>
  error instanceof StoreError && error.problem === "doubtful";

/**
 * Files in a folder. Each process has a work folder of its own beside it, in
 * which a file grows until it is whole, and in which a note says which files are
 * in place but not yet recorded, or about to be no longer: so what a crash leaves
 * is found by looking there, and not by reading everything. A lock beside the folder says whether
 * its process lives; it is there before the folder and longer than it.
 */
export class LocalFiles implements FileStore {
  /** The folder of all files. */
  readonly root: string;
  readonly #workRoot: string;
  readonly #work: string;
  readonly #settled = new Set<string>();
  #lock: Promise<() => void> | undefined;

  /** @param dataDir files lie in `media` in it, by their keys, and grow in `work`. */
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
          // After a power cut, too, there is a note of what is in place.
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
    // The note stays when this fails: the next sweep goes on with it.
    for (const key of forgotten) await this.remove(key);
    await unlinked(note);
  }

  /** The files in place, by their keys. */
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

  /** The keys that somebody is about to record, or to remove. */
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

  /** Lets go of the work folder. Notes that are left in it are for the next sweep. */
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

  /** Moves a file into a folder that may not be there yet. */
  async #move(from: string, to: string): Promise<void> {
    const folder = dirname(to);
    // Once in each process, as another may have made it and not come further.
    if (!this.#settled.has(folder)) await this.#makeFolder(folder);
    try {
      await rename(from, to);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      // Somebody took it away.
      await this.#makeFolder(folder);
      await rename(from, to);
    }
  }

  /** Makes a folder whose name, too, survives a power cut. */
  async #makeFolder(path: string): Promise<void> {
    await mkdir(path, { recursive: true, mode: 0o700 });
    for (let at = path; at !== dirname(this.root); at = dirname(at)) {
      await syncFolder(dirname(at));
    }
    this.#settled.add(path);
  }

  /** Those of all processes, living and dead. */
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
      // A fault of the disk may pass.
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
 * The keys in the notes of a work folder. A note of one key is a folder of its
 * name, made in one step; that of several a file with each on a line.
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
