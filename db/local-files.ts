import { createHash, randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import {
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
} from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import type { FileStore, StoredBytes } from "./files.js";
import { StoreError } from "./store.js";

/** After how long the work of another machine counts as given up, in milliseconds. */
const ABANDONED = 24 * 60 * 60 * 1000;

/** The work folders of this process: a pid alone does not tell it from a dead one. */
const mine = new Set<string>();

/**
 * Files in a folder. Each process has a work folder of its own beside it, in
 * which a file grows until it is whole, and in which a note says which file is
 * in place but not yet recorded: so what a crash leaves is found by looking
 * there, and not by reading everything.
 */
export class LocalFiles implements FileStore {
  /** The folder of all files. */
  readonly root: string;
  readonly #workRoot: string;
  readonly #work: string;

  /** @param dataDir files lie in `media` in it, by their keys, and grow in `work`. */
  constructor(dataDir: string) {
    this.root = resolve(dataDir, "media");
    this.#workRoot = resolve(dataDir, "work");
    mkdirSync(this.root, { recursive: true, mode: 0o700 });
    const name = `${hostname()}.${process.pid}.${randomUUID()}`;
    mine.add(name);
    this.#work = join(this.#workRoot, name);
  }

  async put(
    key: string,
    source: AsyncIterable<Uint8Array>,
    record: (stored: StoredBytes) => Promise<void>,
  ): Promise<void> {
    const path = join(this.root, key);
    const part = await this.#newPath();
    const note = `${part}.note`;
    try {
      const stored = await write(part, source);
      await explained(async () => {
        await writeFile(note, key);
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        await rename(part, path);
        await syncFolder(dirname(path));
      });
      await record(stored);
    } catch (error) {
      await Promise.all([part, path].map((left) => rm(left, { force: true })));
      throw error;
    } finally {
      await rm(note, { force: true });
    }
  }

  async open(key: string): Promise<NodeJS.ReadableStream | undefined> {
    const file = await unlessMissing(
      () => open(join(this.root, key)),
      undefined,
    );
    return file?.createReadStream();
  }

  async remove(key: string): Promise<void> {
    await rm(join(this.root, key), { force: true });
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
      await rm(path, { force: true });
    }
  }

  async sweep(isRecorded: (key: string) => Promise<boolean>): Promise<void> {
    for (const name of await namesIn(this.#workRoot)) {
      const folder = join(this.#workRoot, name);
      if (await isAlive(name, folder)) continue;
      // The notes first: without its note, nobody would find the file again.
      const names = await namesIn(folder);
      for (const note of names.filter((name) => name.endsWith(".note"))) {
        const key = await readText(join(folder, note));
        if (key !== "" && !(await isRecorded(key))) await this.remove(key);
      }
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Lets go of the work folder. */
  async close(): Promise<void> {
    await rmdir(this.#work).catch(() => {});
    mine.delete(basename(this.#work));
  }

  async #newPath(): Promise<string> {
    await explained(() => mkdir(this.#work, { recursive: true, mode: 0o700 }));
    return join(this.#work, randomUUID());
  }
}

/** Writes all of a source to a new file, down to the disk. */
async function write(
  path: string,
  source: AsyncIterable<Uint8Array>,
): Promise<StoredBytes> {
  const sha256 = createHash("sha256");
  let size = 0;
  const file = await explained(() => open(path, "wx", 0o600));
  try {
    for await (const chunk of source) {
      sha256.update(chunk);
      size += chunk.length;
      await explained(() => file.writeFile(chunk));
    }
    await explained(() => file.sync());
  } finally {
    await file.close();
  }
  return { size, sha256: sha256.digest("hex") };
}

/** Makes a rename in a folder survive a power cut. Windows has no such call, and needs none. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Whether the process that a work folder is named after may still be working. */
async function isAlive(name: string, folder: string): Promise<boolean> {
  if (mine.has(name)) return true;
  const [, host, pid] = /^(.+)\.(\d+)\.[^.]+$/.exec(name) ?? [];
  if (host !== hostname()) {
    const { mtimeMs } = await stat(folder);
    return Date.now() - mtimeMs < ABANDONED;
  }
  // Ours, but not of this run: whoever had the number is gone.
  if (Number(pid) === process.pid) return false;
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

const namesIn = (folder: string): Promise<string[]> =>
  unlessMissing(() => readdir(folder), []);

const readText = (path: string): Promise<string> =>
  unlessMissing(() => readFile(path, "utf8"), "");

async function unlessMissing<T>(
  read: () => Promise<T>,
  otherwise: T,
): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return otherwise;
    throw error;
  }
}

/** The store's words for what the disk reports. */
async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    const full = code === "ENOSPC" || code === "EDQUOT";
    throw new StoreError(full ? "full" : "unusable", message);
  }
}
