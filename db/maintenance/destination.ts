import { access, mkdir, readdir, rename, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { LocalFiles } from "../blobs/folder/local-files.js";
import type { FileStore } from "../contract/file-store.js";
import type { TableTarget } from "../copies/dump.js";
import { sqliteTarget } from "../engines/sqlite/copies/sqlite-dump.js";
import { DATABASE } from "../engines/sqlite/engine/sqlite-database.js";
import { syncFolder } from "../local/disk.js";
import { holdLock } from "../local/work-folder.js";
import { ArchiveError } from "./manifest.js";

/** The target of a restore. It must be empty at first. */
export interface Destination {
  readonly name: string;
  readonly tables: TableTarget;
  readonly files: FileStore;
  /**
   * @param keys the keys of the files in the archive.
   * @throws {Failure} if the target contains files that are not in the archive.
   */
  refuseFull(keys: ReadonlySet<string>): Promise<void>;
  /** Makes all restored data visible. The rows become visible last. */
  finish(): Promise<void>;
  /** Releases the destination. Without {@link finish}, the target is left unchanged. */
  close(): Promise<void>;
}

/**
 * Prepares a restore into an empty database server, with files stored separately. All rows appear
 * atomically. A killed restore leaves only files without rows, which the next restore overwrites.
 * @param files the file store, which is closed along with the destination.
 */
export async function sharedDestination(
  name: string,
  tables: TableTarget,
  files: FileStore,
): Promise<Destination> {
  try {
    if (!(await tables.isEmpty())) {
      throw new ArchiveError(
        `${name} is not empty; a backup can only be restored into an empty database.`,
      );
    }
  } catch (error) {
    await tables.close();
    throw error;
  }
  return {
    name,
    tables,
    files,
    refuseFull: (keys) => refuseStrangers(files, keys),
    finish: () => tables.finish(),
    async close() {
      await tables.close();
      await files.close();
    },
  };
}

/**
 * Throws if there are files that are not in the archive. A killed restore of the same archive
 * leaves no such files.
 */
async function refuseStrangers(files: FileStore, keys: ReadonlySet<string>): Promise<void> {
  for await (const { key } of files.keys()) {
    if (keys.has(key)) continue;
    throw new ArchiveError(
      `The file store is not empty: it has ${key}, which the backup does not have.`,
    );
  }
}

/** The work folder. It is inside DATA_DIR, which may be a separate volume, because a rename cannot cross volumes. */
const WORK = "restore";
const MEDIA = "media";
const RESTORE_LOCK = "restore.lock";

/**
 * The names that an empty DATA_DIR may contain: leftovers of a killed restore, the folder of a
 * server's sockets (live/control.ts), and the content of a new volume.
 */
const NOTHING = new Set([WORK, RESTORE_LOCK, "control", "lost+found"]);

/**
 * Prepares a restore into an empty or missing folder: an SQLite database, and the files unless they
 * are stored elsewhere. Everything is built in a work folder and moved into place at the end.
 */
export async function folderDestination(
  dataDir: string,
  elsewhere?: FileStore,
): Promise<Destination> {
  await refuseFull(dataDir);
  const made = await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const release = holdLock(join(dataDir, RESTORE_LOCK));
  if (!release) {
    throw new ArchiveError(`Another restore into ${dataDir} is in progress.`);
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
    // rmdir only succeeds on an empty folder, that is, after a failed restore.
    if (made !== undefined) await rmdir(dataDir).catch(() => {});
  }

  try {
    await refuseFull(dataDir);
    // Remove leftovers of a killed restore, the database last, because wasCutOff looks for the
    // database.
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
 * Whether a restore was killed between its last two steps: the files are in place, but the database
 * is still in the work folder.
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

/** Moves everything into place. The database is moved last, because its presence marks the folder as restored. */
async function place(scratch: string, dataDir: string): Promise<void> {
  const media = join(dataDir, MEDIA);
  await rename(join(scratch, MEDIA), media).catch((error: NodeJS.ErrnoException) => {
    // The files may be stored elsewhere.
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
