import type { ReadEntry } from "tar";
import { Failure } from "../../schemas/plain/failure.js";
import { StoreError } from "../contract/store.js";
import { UnfitRow } from "../copies/dump.js";
import type { Row, Table } from "../copies/tables.js";
import { storeErrorOf } from "../engines/sqlite/engine/sqlite-database.js";
import { entriesOf } from "./archive.js";
import type { Destination } from "./destination.js";
import { ArchiveError, type Contents, entryAt, type ReportProgress, timeOf } from "./manifest.js";
import { openMaintenance, type StorageLocation } from "./storage-location.js";
import { type TableRowCounts, rowCountsOf, rowsIn } from "./table-rows.js";
import { verifyArchive } from "./verify.js";

interface Restored extends TableRowCounts {
  name: string;
  /** Number of files whose modification times could not be restored, because the file system rejected them. */
  untimed: number;
}

/**
 * Restores a backup into an empty storage location. The archive is verified completely before
 * anything is written, and nothing is visible until everything is restored.
 * @throws {Failure} with a one-line message for the operator. The storage location is then left
 * unchanged, unless the outcome of the commit is unknown.
 */
export async function restore(
  archive: string,
  place: StorageLocation,
  report: ReportProgress,
): Promise<Restored> {
  const engines = openMaintenance(place);
  try {
    const to = await engines.destination();
    try {
      return await restoreInto(to, archive, report);
    } finally {
      await to.close();
    }
  } catch (error) {
    if (error instanceof ArchiveError) throw error;
    const fault = storeErrorOf(error) ?? error;
    if (!(fault instanceof StoreError || isOfSystem(fault))) throw error;
    // An error that names a variable already identifies the storage location.
    const isNamed = /^(?:DATABASE_URL|S3_BUCKET): /.test(fault.message);
    const place = isNamed ? "" : `cannot restore into ${engines.name}: `;
    const message = place + fault.message;
    throw new Failure(message, { cause: fault });
  }
}

const isOfSystem = (error: unknown): error is Error => error instanceof Error && "syscall" in error;

async function restoreInto(
  to: Destination,
  archive: string,
  report: ReportProgress,
): Promise<Restored> {
  const contents = await verifyArchive(archive, report);
  await to.refuseFull(keysOf(contents));
  const put: string[] = [];
  try {
    const restored = await unpack(archive, contents, to, put, report);
    await explained(archive, () => to.finish());
    return restored;
  } catch (error) {
    const isDoubtful = error instanceof StoreError && error.problem === "doubtful";
    // If the outcome of the commit is unknown, the rows may exist and need the files.
    if (!isDoubtful) for (const key of put) await to.files.remove(key);
    throw error;
  }
}

const keysOf = ({ members }: Contents): Set<string> =>
  new Set(
    members.flatMap(({ path }) => {
      const entry = entryAt(path);
      return entry?.kind === "file" ? [entry.key] : [];
    }),
  );

/** @param put receives the keys of the files that have been stored. */
async function unpack(
  archive: string,
  { members, tables }: Contents,
  to: Destination,
  put: string[],
  report: ReportProgress,
): Promise<Restored> {
  const byPath = new Map(members.map((member) => [member.path, member]));
  const entries = entriesOf(archive, (done, of) => report("Restoring", done, of));
  let next = await entries.next();
  let untimed = 0;

  async function* rowsOf(table: Table): AsyncGenerator<readonly Row[]> {
    for (; !next.done; next = await entries.next()) {
      const what = entryAt(next.value.path);
      if (what?.kind !== "rows" || what.table !== table) return;
      yield* rowsIn(table, next.value as AsyncIterable<Buffer>);
    }
  }

  async function putFile(key: string, entry: ReadEntry): Promise<void> {
    const { size, sha256, modified } = byPath.get(entry.path)!;
    const bytes = entry as AsyncIterable<Buffer>;
    await to.files.put(
      key,
      bytes,
      async (stored) => {
        if (stored.size !== size || stored.sha256 !== sha256) {
          throw new ArchiveError(`${archive} changed while it was read.`);
        }
      },
      new Date(modified),
    );
    put.push(key);
    const stored = await to.files.open(key);
    if (!stored || timeOf(stored.modified) !== modified) untimed++;
  }

  try {
    while (!next.done) {
      const entry = next.value;
      const what = entryAt(entry.path);
      if (what?.kind === "rows") {
        await explained(archive, () => to.tables.load(what.table, rowsOf(what.table)));
        continue;
      }
      if (what?.kind === "file") await putFile(what.key, entry);
      else entry.resume();
      next = await entries.next();
    }
  } finally {
    await entries.return(undefined);
  }
  return { name: to.name, ...rowCountsOf(tables), untimed };
}

/** Loads rows. Reports an invalid row as a fault in the archive. */
async function explained(archive: string, load: () => Promise<void>): Promise<void> {
  try {
    await load();
  } catch (error) {
    if (!(error instanceof UnfitRow)) throw error;
    throw new ArchiveError(`${archive} cannot be used: ${error.message}`);
  }
}
