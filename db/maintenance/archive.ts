import { createReadStream, createWriteStream, fstatSync, read } from "node:fs";
import { rename, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { Header, Parser, Pax, type ReadEntry } from "tar";
import { syncFolder } from "../local/disk.js";
import { exists, withLockedFolder } from "../local/work-folder.js";
import { ArchiveError } from "./manifest.js";

export interface NewEntry {
  path: string;
  /** The exact size of the content, in bytes. */
  size: number;
  /** In milliseconds since 1970. */
  modified: number;
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/**
 * Writes a tar file and syncs it to disk.
 * @param target a file that does not exist yet.
 * @param entries the entries to write. An entry is requested only after the content of the previous
 * entry has been read.
 */
export async function writeArchive(
  target: string,
  entries: AsyncIterable<NewEntry>,
): Promise<void> {
  async function* tar(): AsyncGenerator<Uint8Array> {
    for await (const entry of entries) {
      yield* headerOf(entry);
      let left = entry.size;
      for await (const chunk of entry.content) {
        left -= chunk.length;
        yield chunk;
      }
      if (left !== 0) {
        throw new ArchiveError(`${entry.path} changed while it was read.`);
      }
      yield Buffer.alloc((512 - (entry.size % 512)) % 512);
    }
    // Two empty blocks end a tar file.
    yield Buffer.alloc(1024);
  }

  await pipeline(tar, createWriteStream(target, { flags: "wx", mode: 0o600, flush: true }));
}

function* headerOf({ path, size, modified }: NewEntry): Generator<Buffer> {
  const mtime = new Date(modified);
  const header = new Header({ path, size, mtime, mode: 0o600, type: "File" });
  if (header.encode()) yield new Pax({ path, size, mtime }).encode();
  yield header.block!;
}

/**
 * Yields the entries of a tar file. Each entry must be read completely before the next entry is
 * requested.
 * @param archive the path of the file, or its descriptor.
 * @throws {ArchiveError} if the file is not a tar file, or is truncated.
 */
export async function* entriesOf(
  archive: string | number,
  report: (bytes: number, of: number) => void,
): AsyncGenerator<ReadEntry> {
  const isOpen = typeof archive === "number";
  const { size } = isOpen ? fstatSync(archive) : await stat(archive);
  const waiting: ReadEntry[] = [];
  let current: ReadEntry | undefined;
  const faults: Error[] = [];
  let ended = false;
  let wake = () => {};
  const source = isOpen
    ? createReadStream("", {
        fd: archive,
        start: 0,
        // The caller owns the descriptor, so leave it open.
        fs: { read, close: (_fd: number, done: () => void) => done() },
      })
    : createReadStream(archive);
  const fail = (error: Error) => {
    faults.push(error);
    source.unpipe(parser);
    // The rest of the current entry never arrives, so fail its reader. Deferred, because the parser
    // may still write to the entry before the parser returns.
    queueMicrotask(() => current?.destroy(error));
    wake();
  };
  const refuseFault = () => {
    const [fault] = faults;
    if (fault) throw fault;
  };
  const parser = new Parser({
    strict: true,
    onReadEntry(entry) {
      // Prevents an uncaught exception if the entry has no reader yet. A reader receives the error
      // anyway.
      entry.on("error", () => {});
      waiting.push(entry);
      wake();
    },
  });
  parser.on("error", ({ message }: Error) =>
    fail(new ArchiveError(message.replace(/^TAR_\w+: /, ""))),
  );
  parser.on("end", () => {
    ended = true;
    wake();
  });
  source.on("error", fail);
  source.pipe(parser);
  try {
    for (;;) {
      while (waiting.length === 0 && !ended && faults.length === 0) {
        await new Promise<void>((resolve) => (wake = resolve));
      }
      refuseFault();
      current = waiting.shift();
      if (!current) return;
      report(source.bytesRead, size);
      yield current;
      refuseFault();
    }
  } finally {
    source.destroy();
  }
}

/** Suffix of the folder in which a new file is built. */
const PART = ".part-";

/**
 * Creates a file atomically: it appears complete or not at all.
 * @param target a file that does not exist yet.
 * @param make writes the file `archive` in a temporary folder, which is removed afterward.
 * @throws {ArchiveError} if the target exists.
 */
export async function newFile<T>(
  target: string,
  make: (folder: string, archive: string) => Promise<T>,
): Promise<T> {
  const path = resolve(target);
  await refuseExisting(path);
  const isPart = (name: string) => name.endsWith(PART);
  return withLockedFolder(path + PART, isPart, async (folder) => {
    const archive = join(folder, "archive");
    const made = await make(folder, archive);
    await refuseExisting(path);
    await rename(archive, path);
    await syncFolder(dirname(path));
    return made;
  });
}

async function refuseExisting(path: string): Promise<void> {
  if (await exists(path)) throw new ArchiveError(`${path} already exists.`);
}
