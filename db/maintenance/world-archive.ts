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

// A world with its files: a tar with the bytes of the files, as a backup has them, and last the
// document, with the records of these files.

/** How often the files of a new world are completed, and the pause in between, in milliseconds. */
const TRIES = 4;
const PAUSE = 1000;

/** The path of the document. A tar without it is cut off. */
const DOCUMENT = "world.json";

interface Data {
  store: Store;
  files: FileStore;
}

/** How many files an archive has, and the keys of those that were missing or damaged. */
export interface ArchivedWorld {
  files: number;
  damaged: string[];
}

/**
 * Writes a world with its files into a new file. The rows are of one moment, and the files
 * that they name are read after it, because files never change.
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
      // The document may not name a file that was deleted meanwhile.
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
 * Creates the world in an archive with its files, wholly or not at all. The archive is read
 * as a whole before anything is written.
 * @param archive the descriptor of an open file.
 * @throws {ArchiveError | StoreError} as {@link WorldStore.import} does.
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
    // It fails where the import would fail, and finds the files that the rows name.
    const trial = await store.worlds.import(lines, { ...options, dryRun: true });
    if (dryRun) return trial;
    const put: string[] = [];
    /** @param unsure keys; those that are in place are removed. */
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
      // Another import of this archive may have put them.
      await putMissing(new Set(named), (key) => isInPlace(files, key, archived.get(key)));
      made = await store.worlds.import(lines, options);
    } catch (error) {
      // Another process may have made this world meanwhile, from the same archive.
      const recorded = new Set(await store.files.keys(trial.world.value.id));
      for (const key of put) if (!recorded.has(key)) await files.remove(key);
      throw error;
    }
    // It may have failed since, and have removed them again. Now they have records, and stay.
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

/** What is wrong with a new world whose files are perhaps not all in place. */
function incomplete(world: string, keys: ReadonlySet<string>, cause: unknown): ArchiveError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ArchiveError(
    `The world ${world} exists now, but these of its files are missing or could not be looked up: ${[...keys].join(", ")}. Delete the world and import it again. The reason: ${why}`,
    { cause },
  );
}

/** Whether a file is in place with the bytes of the archive. */
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

/** Reads an archive, and keeps its document in a file. The caller closes it. */
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
      throw new ArchiveError(`The archive has no ${DOCUMENT}: it is cut off.`);
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
  throw new ArchiveError(`${path} is strange in the archive of a world.`);
}
