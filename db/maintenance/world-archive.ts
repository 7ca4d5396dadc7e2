import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { type FileHandle, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { ReadEntry } from "tar";
import type { FileStore, StoredBytes } from "../contract/file-store.js";
import type { FileDigest, Store, WorldStore } from "../contract/store.js";
import { unnamedFile } from "../local/work-folder.js";
import { entriesOf, type NewEntry, newFile, writeArchive } from "./archive.js";
import { ArchiveError, entryAt, pathOfFile, timeOf } from "./manifest.js";

// A world archive is a tar file with the bytes of the world's files, as in a backup, followed by
// the document, which includes the records of those files.

/** Maximum number of attempts to complete a new world's files, and the pause between attempts, in milliseconds. */
const TRIES = 4;
const PAUSE = 1000;

/** The path of the document. An archive without a document is truncated. */
const DOCUMENT = "world.json";

interface Data {
  store: Store;
  files: FileStore;
}

/** The number of files in an archive, and the keys of the files that were missing or damaged. */
export interface ArchivedWorld {
  files: number;
  damaged: string[];
}

/**
 * Writes a world and its files to a new archive. The rows are a snapshot; the files that they name
 * are read afterwards, which is safe because files never change.
 * @param target a file that does not exist yet. It appears complete or not at all.
 * @throws {ArchiveError | StoreError}
 */
export const exportArchive = (
  { store, files }: Data,
  world: string,
  target: string,
  history: boolean,
): Promise<ArchivedWorld> =>
  newFile(target, async (folder, archive) => {
    const document = join(folder, DOCUMENT);
    const write = (takes: (key: string) => boolean) =>
      writeLines(document, store.worlds.export(world, { history, files: takes }));
    const keys: string[] = [];
    await write((key) => keys.push(key) > 0);
    const held = new Set<string>();
    const damaged: string[] = [];

    async function* entries(): AsyncGenerator<NewEntry> {
      for (const key of keys) {
        const found = await files.open(key);
        const content = await found?.read();
        if (!found || !content) {
          const id = idOf(key);
          if (await store.files.get(world, id)) damaged.push(key);
          continue;
        }
        held.add(key);
        const modified = timeOf(found.modified);
        yield { path: pathOfFile(key), size: found.size, modified, content };
      }
      // The document must not name a file that was deleted during the export.
      if (held.size < keys.length) await write((key) => held.has(key));
      yield {
        path: DOCUMENT,
        size: (await stat(document)).size,
        modified: Date.now(),
        content: createReadStream(document),
      };
    }

    await writeArchive(archive, entries());
    return { files: held.size, damaged };
  });

const idOf = (key: string): string => key.slice(key.lastIndexOf("/") + 1).split(".")[0]!;

const writeLines = (path: string, lines: AsyncIterable<string>): Promise<void> =>
  pipeline(withEnds(lines), createWriteStream(path, { mode: 0o600 }));

async function* withEnds(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield `${line}\n`;
}

interface Archived {
  document: FileHandle;
  files: ReadonlyMap<string, StoredBytes>;
}

/**
 * Creates a world and its files from an archive. The whole archive is read before anything is
 * written. If some of the world's files cannot be stored after the commit, the error names these
 * files.
 * @param archive the descriptor of an open file.
 * @throws {ArchiveError | StoreError} like {@link WorldStore.import}.
 */
export async function importArchive(
  { store, files }: Data,
  archive: number,
  dryRun: boolean,
): ReturnType<WorldStore["import"]> {
  const { document, files: archived } = await readArchive(archive);
  try {
    const lines = { file: document.fd };
    const named = new Set<string>();
    const hasFile = ({ key, size, sha256 }: FileDigest) => {
      const bytes = archived.get(key);
      named.add(key);
      return bytes?.size === size && bytes.sha256 === sha256;
    };
    const options = { files: hasFile };
    // The dry run fails wherever the import would fail, and finds the files that the rows name.
    const trial = await store.worlds.import(lines, { ...options, dryRun: true });
    if (dryRun) return trial;
    const put: string[] = [];
    /**
     * Stores the files that are not in place yet.
     * @param unsure keys to look up; each is removed from the set once its file is in place.
     */
    const putMissing = async (unsure: Set<string>, isThere: (key: string) => Promise<boolean>) => {
      const missing = new Set<string>();
      for (const key of unsure) {
        if (await isThere(key)) unsure.delete(key);
        else missing.add(key);
      }
      if (missing.size === 0) return;
      for await (const entry of entriesOf(archive, () => {})) {
        const what = entryAt(entry.path);
        if (what?.kind !== "file" || !missing.has(what.key)) {
          entry.resume();
          continue;
        }
        const { key } = what;
        await files.put(
          key,
          entry as AsyncIterable<Buffer>,
          async (stored) => {
            if (hasFile({ key, ...stored })) return;
            throw new ArchiveError("The archive changed while it was read.");
          },
          entry.mtime,
        );
        put.push(key);
        unsure.delete(key);
      }
    };
    let made: Awaited<ReturnType<WorldStore["import"]>>;
    try {
      // Another import of this archive may already have stored some of the files.
      await putMissing(new Set(named), (key) => isInPlace(files, key, archived.get(key)));
      made = await store.worlds.import(lines, options);
    } catch (error) {
      // Another process may have created this world from the same archive, so keep the recorded
      // files.
      const recorded = new Set(await store.files.keys(trial.world.value.id));
      for (const key of put) if (!recorded.has(key)) await files.remove(key);
      throw error;
    }
    // Another import of this archive may have failed in the meantime and removed the files that it
    // had stored. A failed import keeps files with records, so storing the missing files again is
    // final.
    const unsure = new Set(named);
    for (let tries = 1; ; tries++) {
      try {
        await putMissing(unsure, async (key) => (await files.open(key)) !== undefined);
        return made;
      } catch (error) {
        if (tries === TRIES) throw incomplete(trial.world.value.id, unsure, error);
        await sleep(PAUSE);
      }
    }
  } finally {
    await document.close();
  }
}

/** Builds the error for a new world whose files may be incomplete. */
function incomplete(world: string, keys: ReadonlySet<string>, cause: unknown): ArchiveError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ArchiveError(
    `The world ${world} exists now, but these of its files are missing or could not be looked up: ${[...keys].join(", ")}. Delete the world and import it again. The reason: ${why}`,
    { cause },
  );
}

/** Whether the stored file has the same bytes as the archived file. */
async function isInPlace(
  files: FileStore,
  key: string,
  bytes: StoredBytes | undefined,
): Promise<boolean> {
  const found = await files.open(key);
  if (!found || found.size !== bytes?.size) return false;
  const content = await found.read();
  if (!content) return false;
  const hash = createHash("sha256");
  for await (const chunk of content) hash.update(chunk as Buffer);
  return hash.digest("hex") === bytes.sha256;
}

/** Reads an archive and saves its document to an unnamed file, which the caller closes. */
async function readArchive(archive: number): Promise<Archived> {
  const files = new Map<string, StoredBytes>();
  let document: FileHandle | undefined;
  try {
    for await (const entry of entriesOf(archive, () => {})) {
      const what = entryAt(entry.path);
      refuseStrange(entry, what?.kind === "file", document !== undefined);
      if (what?.kind !== "file") {
        document = await unnamedFile(entry as AsyncIterable<Buffer>);
        continue;
      }
      if (files.has(what.key)) {
        throw new ArchiveError(`${entry.path} occurs twice in the archive.`);
      }
      const hash = createHash("sha256");
      let size = 0;
      for await (const chunk of entry as AsyncIterable<Buffer>) {
        hash.update(chunk);
        size += chunk.length;
      }
      files.set(what.key, { size, sha256: hash.digest("hex") });
    }
    if (!document) {
      throw new ArchiveError(`The archive has no ${DOCUMENT}: it is truncated.`);
    }
    return { document, files };
  } catch (error) {
    await document?.close();
    throw error;
  }
}

function refuseStrange({ path, type }: ReadEntry, isOfFile: boolean, hasDocument: boolean): void {
  if (path === "manifest.json" || path.startsWith("tables/")) {
    throw new ArchiveError("This is a backup: use foyer restore.");
  }
  const isFile = type === "File" || type === "OldFile";
  if (isFile && !hasDocument && (isOfFile || path === DOCUMENT)) return;
  throw new ArchiveError(`${path} is unexpected in the archive of a world.`);
}
