import {
  access,
  mkdir,
  readdir,
  rename,
  rm,
  rmdir,
  utimes,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { Failure } from "../../failure.js";
import {
  ArchiveError,
  DATABASE,
  MEDIA,
  readArchive,
  type Member,
} from "./archive.js";
import { syncFolder } from "../local/disk.js";
import { holdLock } from "../local/process-lock.js";
import type { Report } from "./progress.js";
import { storeErrorOf } from "../sqlite/database.js";
import { countRows, type RowCounts, openCopy } from "../sqlite/inspection.js";
import { StoreError } from "../store.js";

/** In DATA_DIR itself, which may be a volume of its own: a rename cannot cross volumes. */
const WORK = "restore";
const RESTORE_LOCK = "restore.lock";

/**
 * What an empty DATA_DIR may contain: the remains of a killed restore, the folder of
 * a server's sockets (live/control.ts), and what a new volume has.
 */
const NOTHING = new Set([WORK, RESTORE_LOCK, "control", "lost+found"]);

/** What was restored. */
export interface Restored extends RowCounts {
  /** How many files did not get their times back, because the file system refused them. */
  untimed: number;
}

/**
 * Restores a backup into an empty or missing folder. All of it is checked before
 * any part is moved to where a server would look for it.
 * @throws {Failure} with one line for the operator; the folder is as it was.
 */
export async function restore(
  archive: string,
  dataDir: string,
  report: Report,
): Promise<Restored> {
  try {
    return await restoreInto(dataDir, archive, report);
  } catch (error) {
    if (error instanceof ArchiveError) throw error;
    const fault = storeErrorOf(error) ?? error;
    if (!(fault instanceof StoreError || isOfSystem(fault))) throw error;
    const message = `cannot restore into ${dataDir}: ${fault.message}`;
    throw new Failure(message, { cause: fault });
  }
}

const isOfSystem = (error: unknown): error is Error =>
  error instanceof Error && "syscall" in error;

async function restoreInto(
  dataDir: string,
  archive: string,
  report: Report,
): Promise<Restored> {
  await refuseFull(dataDir);
  const made = await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const release = holdLock(join(dataDir, RESTORE_LOCK));
  if (!release) {
    throw new ArchiveError(`A restore into ${dataDir} is under way already.`);
  }
  const folder = join(dataDir, WORK);
  try {
    await refuseFull(dataDir);
    // The remains of a killed restore. Its database goes last, because wasCutOff looks for it.
    await rm(join(dataDir, MEDIA), { recursive: true, force: true });
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { mode: 0o700 });
    const members = await readArchive(archive, folder, report);
    const counts = checkDatabase(archive, folder);
    const untimed = await settle(folder, members);
    await refuseFull(dataDir);
    await place(folder, dataDir);
    return { ...counts, untimed };
  } finally {
    await rm(folder, { recursive: true, force: true });
    release();
    await rm(join(dataDir, RESTORE_LOCK), { force: true });
    // rmdir fails on a folder with contents, so this removes it only after a failure.
    if (made !== undefined) await rmdir(dataDir).catch(() => {});
  }
}

async function refuseFull(dataDir: string): Promise<void> {
  const names = await readdir(dataDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const isCut = await wasCutOff(dataDir);
  const odd = names.find(
    (name) => !NOTHING.has(name) && !(isCut && `${name}/` === MEDIA),
  );
  if (odd !== undefined) {
    throw new ArchiveError(
      `${dataDir} is not empty; a backup can only be restored into an empty or missing folder.`,
    );
  }
}

/**
 * Whether a restore was killed between its last two steps, when the files are in
 * place and the database is still where it was unpacked.
 */
async function wasCutOff(dataDir: string): Promise<boolean> {
  const has = (path: string) =>
    access(join(dataDir, path)).then(
      () => true,
      () => false,
    );
  return (
    (await has(join(WORK, DATABASE))) &&
    !(await has(join(WORK, MEDIA))) &&
    !(await has(DATABASE))
  );
}

function checkDatabase(archive: string, folder: string): RowCounts {
  try {
    const db = openCopy(join(folder, DATABASE));
    try {
      return countRows(db);
    } finally {
      db.close();
    }
  } catch (error) {
    throw new ArchiveError(
      `${archive} cannot be used: ${(error as Error).message}`,
    );
  }
}

/**
 * Sets the times of the files, and syncs the folders to the disk.
 * @returns how many files did not get their times.
 */
async function settle(folder: string, members: Member[]): Promise<number> {
  const folders = new Set([folder]);
  let untimed = 0;
  for (const { path, modified } of members) {
    const file = join(folder, path);
    if (!(await setTime(file, modified / 1000))) untimed++;
    for (let up = dirname(file); !folders.has(up); up = dirname(up)) {
      folders.add(up);
    }
  }
  for (const one of folders) await syncFolder(one);
  return untimed;
}

/** The errors of a file system that keeps no times, or cannot keep this one. */
const TIMELESS = new Set([
  "EACCES",
  "EINVAL",
  "ENOSYS",
  "ENOTSUP",
  "EOPNOTSUPP",
  "EOVERFLOW",
  "EPERM",
]);

/**
 * @param seconds since 1970.
 * @returns whether the file has this time now. A file without it is still complete.
 */
async function setTime(file: string, seconds: number): Promise<boolean> {
  try {
    await utimes(file, seconds, seconds);
    return true;
  } catch (error) {
    if (!TIMELESS.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    return false;
  }
}

/** Moves everything into place. The database is last, because it makes the folder a restored one. */
async function place(folder: string, dataDir: string): Promise<void> {
  const media = join(dataDir, MEDIA);
  await rename(join(folder, MEDIA), media).catch(
    (error: NodeJS.ErrnoException) => {
      // A server without uploads has no such folder.
      if (error.code !== "ENOENT") throw error;
    },
  );
  try {
    await syncFolder(dataDir);
    await rename(join(folder, DATABASE), join(dataDir, DATABASE));
  } catch (error) {
    await rm(media, { recursive: true, force: true });
    throw error;
  }
  await syncFolder(dataDir);
}
