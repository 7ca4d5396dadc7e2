import { createHash } from "node:crypto";
import { version } from "../../schemas/plain/version.js";
import type { FileStore } from "../contract/file-store.js";
import type { FileDigest } from "../contract/store.js";
import type { TableSource } from "../copies/dump.js";
import { type Row, type Table, TABLES } from "../copies/tables.js";
import { type NewEntry, newFile, writeArchive } from "./archive.js";
import {
  ArchiveError,
  MANIFEST,
  manifestOf,
  type Member,
  pathOfFile,
  pathOfRows,
  type ReportProgress,
  type TableRows,
  timeOf,
} from "./manifest.js";
import { openMaintenance, type StorageLocation } from "./storage-location.js";
import { partsOf, type TableRowCounts, rowCountsOf } from "./table-rows.js";

const ATTEMPTS = 5;

export interface Backup extends TableRowCounts {
  /** The total size of all files, in bytes. */
  bytes: number;
  /** The keys of files that were already missing or damaged. Everything else is backed up. */
  damaged: string[];
}

/** Thrown if a world was deleted after the rows were captured, so that its files are gone. */
class WorldGone extends ArchiveError {}

/**
 * Copies all rows and files, as of one moment, into a single file. A server may write concurrently.
 * The rows are captured first. The files that the rows name can then be read at any time, because
 * files never change. A file deleted during the backup is left out along with its record.
 * @param target a file that does not exist yet. It appears complete or not at all.
 */
export async function backup(
  place: StorageLocation,
  target: string,
  report: ReportProgress,
): Promise<Backup> {
  const from = openMaintenance(place);
  const files = await from.files();
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        return await newFile(target, async (folder, archive) => {
          const source = await from.source(folder, report);
          try {
            return await pack(source, files, archive, report);
          } finally {
            await source.close();
          }
        });
      } catch (error) {
        if (!(error instanceof WorldGone) || attempt === ATTEMPTS) throw error;
      }
    }
  } finally {
    await files.close();
  }
}

const FILES = TABLES.find(({ name }) => name === "files")!;
const [KEY, SIZE, SHA256] = ["key", "size", "sha256"].map((name) =>
  FILES.columns.findIndex((column) => column.name === name),
) as [number, number, number];

async function recordsIn(source: TableSource): Promise<FileDigest[]> {
  const records: FileDigest[] = [];
  for await (const rows of source.rows(FILES)) {
    for (const row of rows) {
      const [key, size, sha256] = [row[KEY], row[SIZE], row[SHA256]];
      records.push({ key, size, sha256 } as FileDigest);
    }
  }
  return records;
}

const totalSize = (files: readonly FileDigest[]): number =>
  files.reduce((sum, { size }) => sum + size, 0);

async function pack(
  source: TableSource,
  files: FileStore,
  archive: string,
  report: ReportProgress,
): Promise<Backup> {
  const records = await recordsIn(source);
  const of = totalSize(records);
  const members: Member[] = [];
  const tables: TableRows[] = [];
  const damaged: string[] = [];
  const deleted = new Set<string>();
  let done = 0;

  async function* fileEntries(): AsyncGenerator<NewEntry> {
    for (const { key, size } of records) {
      const found = await files.open(key);
      const bytes = await found?.read();
      if (found && bytes) {
        const hash = createHash("sha256");
        const entry = { path: pathOfFile(key), size: found.size, modified: timeOf(found.modified) };
        const content = async function* () {
          for await (const chunk of bytes as AsyncIterable<Buffer>) {
            hash.update(chunk);
            report("Writing the files", (done += chunk.length), of);
            yield chunk;
          }
        };
        yield { ...entry, content: content() };
        members.push({ ...entry, sha256: hash.digest("hex") });
        continue;
      }
      done += size;
      const fate = await source.fateOf(key);
      if (fate === "recorded") damaged.push(key);
      else if (fate === "deleted") deleted.add(key);
      else throw new WorldGone("Worlds were deleted during every attempt. Try again.");
    }
  }

  /**
   * Yields a table's rows. Rows are written after the files, because the rows must not name a file
   * that was deleted during the backup.
   */
  async function* rowEntries(table: Table): AsyncGenerator<NewEntry> {
    const count = await source.count(table);
    let rows = 0;
    const batches = async function* () {
      for await (const batch of source.rows(table)) {
        const kept = table === FILES ? batch.filter(isHeld) : batch;
        rows += kept.length;
        report(`Writing the table ${table.name}`, rows, count);
        yield kept;
      }
    };
    const hash = createHash("sha256");
    let part = 0;
    for await (const bytes of partsOf(table, batches())) {
      hash.update(bytes);
      yield {
        path: pathOfRows(table, ++part),
        size: bytes.length,
        modified: created.getTime(),
        content: [bytes],
      };
    }
    tables.push({
      name: table.name,
      columns: table.columns.map(({ name }) => name),
      rows,
      sha256: hash.digest("hex"),
    });
  }
  const isHeld = (row: Row) => !deleted.has(row[KEY] as string);

  const created = new Date();
  async function* entries(): AsyncGenerator<NewEntry> {
    yield* fileEntries();
    for (const table of TABLES) yield* rowEntries(table);
    const manifest = manifestOf(version, created, members, tables);
    yield {
      path: MANIFEST,
      size: manifest.length,
      modified: created.getTime(),
      content: [manifest],
    };
  }

  await writeArchive(archive, entries());
  const sums = new Map(members.map(({ path, sha256 }) => [path, sha256]));
  const held = records.filter(({ key }) => !deleted.has(key));
  for (const { key, sha256 } of held) {
    const sum = sums.get(pathOfFile(key));
    if (sum !== undefined && sum !== sha256) damaged.push(key);
  }
  return { ...rowCountsOf(tables), bytes: totalSize(held), damaged };
}
