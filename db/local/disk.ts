import { createHash } from "node:crypto";
import fs from "node:fs";
import { type FileHandle, open, readFile, unlink } from "node:fs/promises";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import type { ByteRange, StoredBytes } from "../files.js";
import { StoreError } from "../store.js";

// What is asked of the disk, so that it is there after a power cut.

/**
 * How many bytes are written at once: to hand a write to another thread takes as
 * long as to write a few of the chunks that come from a socket.
 */
const BLOCK = 512 * 1024;

/** Writes all of a source to a new file, down to the disk. */
export async function write(
  path: string,
  source: AsyncIterable<Uint8Array>,
): Promise<StoredBytes> {
  const sha256 = createHash("sha256");
  let size = 0;
  const file = await asStoreError(() => open(path, "wx", 0o600));
  try {
    for await (const chunks of inBlocks(source)) {
      const written = asStoreError(() => writeAll(file, chunks));
      for (const chunk of chunks) {
        sha256.update(chunk);
        size += chunk.length;
      }
      await written;
    }
    await asStoreError(() => file.sync());
  } finally {
    await file.close();
  }
  return { size, sha256: sha256.digest("hex") };
}

/** What one call writes may end early, as on a disk that is almost full. */
async function writeAll(file: FileHandle, chunks: Uint8Array[]): Promise<void> {
  let { bytesWritten: done } = await file.writev(chunks);
  for (const chunk of chunks) {
    if (done < chunk.length) await file.writeFile(chunk.subarray(done));
    done = Math.max(0, done - chunk.length);
  }
}

/** Bytes in blocks of at least {@link BLOCK}, but for the last. */
async function* inBlocks(
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array[]> {
  let chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of source) {
    chunks.push(chunk);
    size += chunk.length;
    if (size < BLOCK) continue;
    yield chunks;
    chunks = [];
    size = 0;
  }
  if (size > 0) yield chunks;
}

// A stream of a FileHandle takes longer than one of a number.
const openNumber = promisify(fs.open);

/** For a stream that knows how much it has to read: to read nothing is then an error. */
const strictly = {
  close: fs.close,
  read: ((fd, buffer, offset, length, position, done) => {
    fs.read(fd, buffer, offset, length, position, (error, count, bytes) => {
      const early = count === 0 ? new Error("The file ended early.") : null;
      done(error ?? early, count, bytes);
    });
  }) as typeof fs.read,
};

/**
 * Opens a part of a file.
 * @returns its bytes, which fail if the file is too short; undefined where there is no file.
 */
export async function readPart(
  path: string,
  { start, end }: ByteRange,
): Promise<Readable | undefined> {
  const fd = await unlessMissing(() => openNumber(path, "r"), undefined);
  if (fd === undefined) return undefined;
  if (end < start) {
    await promisify(fs.close)(fd);
    return Readable.from([]);
  }
  return fs.createReadStream("", { fd, start, end, fs: strictly });
}

/** By their folders, the syncs that have not begun. */
const dueSyncs = new Map<string, Promise<void>>();
const lastSyncs = new Map<string, Promise<void>>();

/**
 * Makes what was renamed in a folder survive a power cut. Whoever asks while the
 * folder is being synced shares the next sync with all who do.
 */
export function syncFolder(path: string): Promise<void> {
  const due = dueSyncs.get(path);
  if (due) return due;
  const sync = async () => {
    await lastSyncs.get(path)?.catch(() => {});
    dueSyncs.delete(path);
    await syncNow(path);
  };
  const next = sync().finally(() => {
    if (lastSyncs.get(path) === next) lastSyncs.delete(path);
  });
  dueSyncs.set(path, next);
  lastSyncs.set(path, next);
  return next;
}

/** Windows has no such call, and needs none. */
async function syncNow(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** The text of a file; none where there is none. */
export const readText = (path: string): Promise<string> =>
  unlessMissing(() => readFile(path, "utf8"), "");

/** Like `rm` with force, which looks first and so costs twice as much. */
export const unlinked = (path: string): Promise<void> =>
  unlessMissing(() => unlink(path), undefined);

/** What was read, or something else where there is nothing to read. */
export async function unlessMissing<T>(
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
export async function asStoreError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    const full = code === "ENOSPC" || code === "EDQUOT";
    throw new StoreError(full ? "full" : "unusable", message);
  }
}
