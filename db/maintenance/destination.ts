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

/** Where a restore brings a backup. It is empty at first. */
export interface Destination {
  readonly name: string;
  readonly tables: TableTarget;
  readonly files: FileStore;
  /** @throws {Failure} if something is there that a restore would mix with. */
  refuseFull(keys: ReadonlySet<string>): Promise<void>;
  /** Makes all visible at once, rows last. */
  finish(): Promise<void>;
  /** Ends. Unless it was finished, the place is as it was. */
  close(): Promise<void>;
}

/**
 * An empty database of a server, with files beside it. The rows appear all at once.
 * A killed restore leaves only files without rows; the next one overwrites them.
 * @param files closed with the destination.
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

/** Refuses files that are not in the archive. Files of a killed restore are in it. */
async function refuseStrangers(files: FileStore, keys: ReadonlySet<string>): Promise<void> {
  for await (const { key } of files.keys()) {
    if (keys.has(key)) continue;
    throw new ArchiveError(
      `The file store is not empty: it has ${key}, which the backup does not have.`,
    );
  }
}

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
