import {
  access,
  mkdtemp,
  open,
  readdir,
  rename,
  rm,
  stat,
  type FileHandle,
} from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { ArchiveError, DATABASE, MEDIA, writeArchive } from "./archive.js";
import { syncFolder } from "../local/disk.js";
import { LocalFiles } from "../local/files.js";
import { holdLock } from "../local/process-lock.js";
import type { Report } from "./progress.js";
import { openForInspection, refuseMissing } from "../sqlite/database.js";
import {
  allFiles,
  copyDatabase,
  countRows,
  type RowCounts,
  dropFiles,
  openCopy,
  totalSize,
  whatBecameOf,
} from "../sqlite/inspection.js";

/** After how many attempts a backup gives up. */
const ATTEMPTS = 5;

/** The end of the name of the folder in which a backup is written, and the lock in it. */
const PART = /\.part-[A-Za-z0-9]{6}$/;
const BACKUP_LOCK = "backup.lock";

/** What a backup contains. */
export interface Backup extends RowCounts {
  /** The size of all files, in bytes. */
  bytes: number;
  /** The keys of files that were already missing or damaged. All else is backed up. */
  damaged: string[];
}

/** A world was deleted after the database was copied, so the copy names files that are gone. */
class WorldGone extends ArchiveError {}

/**
 * Copies the database and the files of a folder into one file, as they are at
 * one moment. A server may write meanwhile. The database is copied first, and then
 * the files that the copy names, because files never change. A file that is
 * deleted meanwhile is left out of both.
 * @param target a file that does not exist yet. It appears complete or not at all.
 */
export async function backup(
  dataDir: string,
  target: string,
  report: Report,
): Promise<Backup> {
  refuseMissing(dataDir);
  const path = resolve(target);
  await refuseExisting(path);
  await sweep(dirname(path));
  for (let attempt = 1; ; attempt++) {
    const folder = await mkdtemp(`${path}.part-`);
    const release = holdLock(join(folder, BACKUP_LOCK))!;
    try {
      const archive = join(folder, "archive");
      await copyDatabase(dataDir, join(folder, DATABASE), (copied, total) =>
        report("Copying the database", copied, total),
      );
      const made = await pack(dataDir, folder, archive, report);
      await refuseExisting(path);
      await rename(archive, path);
      await syncFolder(dirname(path));
      return made;
    } catch (error) {
      if (!(error instanceof WorldGone) || attempt === ATTEMPTS) throw error;
    } finally {
      await rm(folder, { recursive: true, force: true });
      release();
    }
  }
}

/** Removes what killed backups left: copies of all data, keys included. */
async function sweep(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const part = join(folder, name);
    if (!PART.test(name) || !(await exists(join(part, BACKUP_LOCK)))) continue;
    const release = holdLock(join(part, BACKUP_LOCK));
    if (!release) continue;
    await rm(part, { recursive: true, force: true });
    release();
  }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

async function refuseExisting(path: string): Promise<void> {
  if (await exists(path)) throw new ArchiveError(`${path} exists already.`);
}

async function pack(
  dataDir: string,
  folder: string,
  archive: string,
  report: Report,
): Promise<Backup> {
  const copy = openCopy(join(folder, DATABASE));
  const counts = countRows(copy);
  const records = allFiles(copy);
  copy.close();
  const { root } = new LocalFiles(dataDir);
  const damaged: string[] = [];
  const deleted = new Set<string>();
  const { size } = await stat(join(folder, DATABASE));
  const of = totalSize(records) + size;
  let done = 0;

  async function* sources() {
    for (const { key } of records) {
      const file = await openFile(join(root, key));
      if (file) {
        yield { path: MEDIA + key, file };
        continue;
      }
      const fate = fateOf(dataDir, key);
      if (fate === "recorded") damaged.push(key);
      else if (fate === "deleted") deleted.add(key);
      else
        throw new WorldGone(
          "Worlds were deleted during every attempt. Try again.",
        );
    }
    // The database is last, because it must not name a file that was deleted meanwhile.
    if (deleted.size > 0) dropFiles(join(folder, DATABASE), deleted);
    yield { path: DATABASE, file: await open(join(folder, DATABASE)) };
  }

  const members = await writeArchive(archive, sources(), (bytes) =>
    report("Writing the archive", (done += bytes), of),
  );
  const sums = new Map(members.map(({ path, sha256 }) => [path, sha256]));
  const held = records.filter(({ key }) => !deleted.has(key));
  for (const { key, sha256 } of held) {
    const sum = sums.get(MEDIA + key);
    if (sum !== undefined && sum !== sha256) damaged.push(key);
  }
  return { ...counts, files: held.length, bytes: totalSize(held), damaged };
}

async function openFile(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function fateOf(dataDir: string, key: string) {
  const db = openForInspection(dataDir);
  try {
    return whatBecameOf(db, key);
  } finally {
    db.close();
  }
}
