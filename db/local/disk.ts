import { createHash } from "node:crypto";
import fs from "node:fs";
import { type FileHandle, open, readFile, unlink } from "node:fs/promises";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import type { ByteRange, StoredBytes } from "../contract/file-store.js";
import { StoreError } from "../contract/store.js";

// Reads and writes files that survive a power failure.

/** Bytes per write. Dispatching a write to another thread costs as much as writing a few chunks from a socket. */
const BLOCK = 512 * 1024;

/**
 * Writes a source to a new file and syncs it to disk.
 * @param modified the modification time to set, if the file system supports it.
 */
export async function write(
  path: string,
  source: AsyncIterable<Uint8Array>,
  modified?: Date,
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
    await asStoreError(async () => {
      if (modified) await setTime(file, modified);
      await file.sync();
    });
  } finally {
    await file.close();
  }
  return { size, sha256: sha256.digest("hex") };
}

/** Error codes from file systems that cannot store file times, or cannot store the given time. */
const TIMELESS = new Set([
  "EACCES",
  "EINVAL",
  "ENOSYS",
  "ENOTSUP",
  "EOPNOTSUPP",
  "EOVERFLOW",
  "EPERM",
]);

async function setTime(file: FileHandle, time: Date): Promise<void> {
  try {
    await file.utimes(time, time);
  } catch (error) {
    if (!TIMELESS.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

/** Writes all chunks. A single `writev` may write fewer bytes, for example on an almost full disk. */
async function writeAll(file: FileHandle, chunks: Uint8Array[]): Promise<void> {
  let { bytesWritten: done } = await file.writev(chunks);
  for (const chunk of chunks) {
    if (done < chunk.length) await file.writeFile(chunk.subarray(done));
    done = Math.max(0, done - chunk.length);
  }
}

/** Groups chunks into blocks of at least {@link BLOCK} bytes. Only the last block may be smaller. */
async function* inBlocks(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array[]> {
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

// Streams from a raw file descriptor are faster than streams from a FileHandle.
const openNumber = promisify(fs.open);

/** File system functions for a stream of known length, for which an empty read is an error. */
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
 * Opens a range of a file.
 * @returns a stream of the range's bytes, which fails if the file is too short, or undefined if the
 * file does not exist.
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

/** Syncs that have not started yet, by folder. */
const dueSyncs = new Map<string, Promise<void>>();
/** The latest sync of each folder, whether or not it has started. */
const lastSyncs = new Map<string, Promise<void>>();

/**
 * Makes the names in a folder durable, so that they survive a power failure. All calls made during
 * a sync of the folder share the next sync.
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

/** Windows cannot sync a folder and does not need to. */
async function syncNow(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Returns the text in a file, or an empty string if the file does not exist. */
export const readText = (path: string): Promise<string> =>
  unlessMissing(() => readFile(path, "utf8"), "");

/** Deletes a file if it exists. Costs half as much as `rm` with `force`, which checks for the file first. */
export const unlinked = (path: string): Promise<void> =>
  unlessMissing(() => unlink(path), undefined);

/** Returns the result of `read`, or `otherwise` if the file does not exist. */
export async function unlessMissing<T>(read: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return otherwise;
    throw error;
  }
}

/**
 * Runs a file system operation.
 * @throws {StoreError} `full` or `unusable` in place of the operation's errors.
 */
export async function asStoreError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    const full = code === "ENOSPC" || code === "EDQUOT";
    throw new StoreError(full ? "full" : "unusable", message);
  }
}
