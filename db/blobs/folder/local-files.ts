import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { link, mkdir, readdir, rename, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { BucketOptions } from "../../choice.js";
import {
  compareKeys,
  type FileEntry,
  type FileStore,
  identityOf,
  identityText,
  isDoubtful,
  type ReadableFile,
  type StoredBytes,
} from "../../contract/file-store.js";
import { StoreError } from "../../contract/store.js";
import {
  asStoreError,
  readPart,
  readText,
  syncFolder,
  unlessMissing,
  unlinked,
  write,
} from "../../local/disk.js";
import { WorkFolder } from "../../local/work-folder.js";

const SWEEP_INTERVAL_MS = 10 * 60_000;

/** The file that holds the folder's identity. No key has this name. */
const IDENTITY = ".foyer.json";

const NOTE = ".note";

const isNote = (name: string) => name.endsWith(NOTE);

/** Convert a key to the name of its note, and back. The key is encoded because it contains slashes. */
const noteOf = (key: string) => `${encodeURIComponent(key)}${NOTE}`;
const keyIn = (note: string) => decodeURIComponent(note.slice(0, -NOTE.length));

/**
 * Stores files in a folder. Each process writes incomplete files to its own work folder, which is
 * next to the folder of stored files. Notes in the work folder name the files that are in place but
 * have not been recorded yet, and the files that are about to be deleted. After a crash, a sweep
 * reads only the notes instead of all files. A lock next to the work folder shows whether the
 * process is alive. The lock is created before the work folder is created, and deleted after the
 * work folder is deleted.
 */
export class LocalFiles implements FileStore {
  readonly root: string;
  readonly #work: WorkFolder;
  readonly #settled = new Set<string>();

  /** @param dataDir contains the files in `media`, by key, and the work folders in `work`. */
  constructor(dataDir: string) {
    this.root = resolve(dataDir, "media");
    this.#work = new WorkFolder(dataDir);
    mkdirSync(this.root, { recursive: true, mode: 0o700 });
  }

  async put(
    key: string,
    source: AsyncIterable<Uint8Array>,
    record: (stored: StoredBytes) => Promise<void>,
    modified?: Date,
  ): Promise<void> {
    const path = join(this.root, key);
    const part = await this.#work.newPath();
    const note = join(this.#work.path, noteOf(key));
    let inPlace = false;
    try {
      const [noted, written] = await Promise.allSettled([
        asStoreError(async () => {
          await mkdir(note);
          // The note must be as durable as the file, in case of a power failure.
          await syncFolder(this.#work.path);
        }),
        write(part, source, modified),
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
    return { size, modified, read: (range = { start: 0, end: size - 1 }) => readPart(path, range) };
  }

  async remove(key: string): Promise<void> {
    await unlinked(join(this.root, key));
  }

  async discard(keys: readonly string[], forget: () => Promise<readonly string[]>): Promise<void> {
    const note = `${await this.#work.newPath()}${NOTE}`;
    let forgotten: readonly string[];
    try {
      await asStoreError(async () => {
        await writeFile(note, keys.join("\n"), { flush: true });
        await syncFolder(this.#work.path);
      });
      forgotten = await forget();
    } catch (error) {
      if (!isDoubtful(error)) await unlinked(note);
      throw error;
    }
    // If a removal fails, the note remains, and the next sweep removes the rest.
    for (const key of forgotten) await this.remove(key);
    await unlinked(note);
  }

  async *keys(after = ""): AsyncGenerator<FileEntry> {
    yield* this.#keysBelow("", after);
  }

  async *#keysBelow(folder: string, after: string): AsyncGenerator<FileEntry> {
    const entries = await unlessMissing(
      () => readdir(join(this.root, folder), { withFileTypes: true }),
      [],
    );
    // Sort folders with a trailing slash, because a slash follows the folder name in their files'
    // keys.
    const keys = entries
      .map((entry) => folder + entry.name + (entry.isDirectory() ? "/" : ""))
      .filter((key) => key !== IDENTITY && isBeyond(key, after))
      .sort(compareKeys);
    for (const key of keys) {
      if (key.endsWith("/")) {
        yield* this.#keysBelow(key, after);
        continue;
      }
      const path = join(this.root, key);
      const found = await unlessMissing(() => stat(path), undefined);
      if (found) yield { key, size: found.size };
    }
  }

  async unsettled(): Promise<ReadonlySet<string>> {
    const keys = new Set<string>();
    for (const folder of await this.#work.all()) {
      for (const key of await notedIn(folder)) keys.add(key);
    }
    return keys;
  }

  withScratch<T>(source: AsyncIterable<Uint8Array>, use: (path: string) => Promise<T>): Promise<T> {
    return this.#work.withScratch(source, use);
  }

  async sweep(isRecorded: (key: string) => Promise<boolean>): Promise<number> {
    await this.#work.sweep(async (folder) => {
      for (const key of await notedIn(folder)) {
        if (!(await isRecorded(key))) await this.remove(key);
      }
    });
    return SWEEP_INTERVAL_MS;
  }

  async identify(): Promise<string> {
    const path = join(this.root, IDENTITY);
    return (await identityIn(path)) ?? asStoreError(() => this.#name(path));
  }

  /** Writes a new identity, unless another process has already done so. */
  async #name(path: string): Promise<string> {
    const part = await this.#work.newPath();
    await writeFile(part, identityText(randomUUID()), { flush: true, mode: 0o600 });
    try {
      // Unlike a rename, a hard link never replaces an existing file.
      await link(part, path).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw error;
      });
      await syncFolder(this.root);
    } finally {
      await unlinked(part);
    }
    const identity = await identityIn(path);
    if (identity !== undefined) return identity;
    throw new StoreError("unusable", `${path} vanished`);
  }

  /** Releases the work folder. Remaining notes are left for the next sweep. */
  close(): Promise<void> {
    return this.#work.close((names) => names.some(isNote));
  }

  async #move(from: string, to: string): Promise<void> {
    const folder = dirname(to);
    // Sync each folder once per process: another process may have created the folder and crashed
    // before syncing it.
    if (!this.#settled.has(folder)) await this.#makeFolder(folder);
    try {
      await rename(from, to);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      // The folder has been removed since it was created.
      await this.#makeFolder(folder);
      await rename(from, to);
    }
  }

  /** Creates a folder that survives a power failure. */
  async #makeFolder(path: string): Promise<void> {
    await mkdir(path, { recursive: true, mode: 0o700 });
    for (let at = path; at !== dirname(this.root); at = dirname(at)) {
      await syncFolder(dirname(at));
    }
    this.#settled.add(path);
  }
}

/**
 * Whether a key sorts after the key `after`. A key that ends with a slash is a folder, and counts
 * if any key inside the folder may sort after `after`.
 */
const isBeyond = (key: string, after: string): boolean =>
  compareKeys(key, after) > 0 || (key.endsWith("/") && after.startsWith(key));

/** Returns the identity in a file, or undefined if the file is missing or empty. */
async function identityIn(path: string): Promise<string | undefined> {
  const text = await asStoreError(() => readText(path));
  if (text === "") return undefined;
  const identity = identityOf(text);
  if (identity !== undefined) return identity;
  throw new StoreError("unusable", `${path} is not Foyer's`);
}

/**
 * Returns the keys in the notes of a work folder. The note of one key is an empty folder named
 * after the key, because creating a folder is atomic. The note of several keys is a file with one
 * key per line.
 */
async function notedIn(folder: string): Promise<string[]> {
  const entries = await unlessMissing(() => readdir(folder, { withFileTypes: true }), []);
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

/** Opens the file store: a bucket if there are options for it, otherwise a folder in `dataDir`. */
export async function openFiles(
  dataDir: string,
  bucket: BucketOptions | undefined,
): Promise<FileStore> {
  if (!bucket) return new LocalFiles(dataDir);
  const { S3Files } = await import("../bucket/s3-files.js");
  return S3Files.open(bucket, dataDir);
}
