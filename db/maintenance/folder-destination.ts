import { access, mkdir, readdir, rename, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import type { FileStore } from "../contract/files.js";
import { syncFolder } from "../local/disk.js";
import { LocalFiles } from "../blobs/folder/files.js";
import { holdLock } from "../local/locked-folder.js";
import { DATABASE } from "../engines/sqlite/engine/database.js";
import { sqliteTarget } from "../engines/sqlite/copies/dump.js";
import { type Destination, refuseStrangers } from "./destination.js";
import { ArchiveError } from "./manifest.js";

/** In DATA_DIR itself, which may be a volume of its own: a rename cannot cross volumes. */
const WORK = "restore";
const MEDIA = "media";
const RESTORE_LOCK = "restore.lock";

/**
 * The names that an empty DATA_DIR may contain: the remains of a killed restore, the
 * folder of a server's sockets (live/control.ts), and the content of a new volume.
 */
const NOTHING = new Set([WORK, RESTORE_LOCK, "control", "lost+found"]);

/**
 * An empty or missing folder that gets a database of SQLite, and the files unless
 * they go elsewhere. All of it is made in a folder of its own, and moved to where a
 * server would look for it at the end.
 */
export async function folderDestination(
  dataDir: string,
  elsewhere?: FileStore,
): Promise<Destination> {
  await refuseFull(dataDir);
  const made = await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const release = holdLock(join(dataDir, RESTORE_LOCK));
  if (!release) {
    throw new ArchiveError(`A restore into ${dataDir} is under way already.`);
  }
  const scratch = join(dataDir, WORK);
  const database = join(scratch, DATABASE);
  const tables = sqliteTarget(database);
  let files: FileStore | undefined;

  async function close(): Promise<void> {
    await tables.close();
    await files?.close();
    await rm(scratch, { recursive: true, force: true });
    release!();
    await rm(join(dataDir, RESTORE_LOCK), { force: true });
    // rmdir fails on a folder with contents, so this removes it only after a failure.
    if (made !== undefined) await rmdir(dataDir).catch(() => {});
  }

  try {
    await refuseFull(dataDir);
    // The remains of a killed restore. Its database goes last, because wasCutOff looks for it.
    await rm(join(dataDir, MEDIA), { recursive: true, force: true });
    await rm(scratch, { recursive: true, force: true });
    await mkdir(scratch, { mode: 0o700 });
    files = elsewhere ?? new LocalFiles(scratch);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    name: dataDir,
    tables,
    files,
    async refuseFull(keys) {
      if (elsewhere) await refuseStrangers(elsewhere, keys);
    },
    async finish() {
      await tables.finish();
      await syncFolder(scratch);
      await refuseFull(dataDir);
      await place(scratch, dataDir);
    },
    close,
  };
}

async function refuseFull(dataDir: string): Promise<void> {
  const names = await readdir(dataDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const isCut = await wasCutOff(dataDir);
  const odd = names.find((name) => !NOTHING.has(name) && !(isCut && name === MEDIA));
  if (odd !== undefined) {
    throw new ArchiveError(
      `${dataDir} is not empty; a backup can only be restored into an empty or missing folder.`,
    );
  }
}

/**
 * Whether a restore was killed between its last two steps, when the files are in
 * place and the database is still where it was made.
 */
async function wasCutOff(dataDir: string): Promise<boolean> {
  const has = (path: string) =>
    access(join(dataDir, path)).then(
      () => true,
      () => false,
    );
  return (
    (await has(join(WORK, DATABASE))) && !(await has(join(WORK, MEDIA))) && !(await has(DATABASE))
  );
}

/** Moves everything into place. The database is last, because it makes the folder a restored one. */
async function place(scratch: string, dataDir: string): Promise<void> {
  const media = join(dataDir, MEDIA);
  await rename(join(scratch, MEDIA), media).catch((error: NodeJS.ErrnoException) => {
    // The files may be elsewhere.
    if (error.code !== "ENOENT") throw error;
  });
  try {
    await syncFolder(dataDir);
    await rename(join(scratch, DATABASE), join(dataDir, DATABASE));
  } catch (error) {
    await rm(media, { recursive: true, force: true });
    throw error;
  }
  await syncFolder(dataDir);
}
