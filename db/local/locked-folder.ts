import { access, mkdtemp, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";

/**
 * Takes a lock that the operating system releases when this process exits, however
 * it exits: SQLite's lock of a file. A process id would tell less, because ids are
 * reused and mean something else in another container.
 * @param path a file that serves only as a lock; created if missing.
 * @returns a function that releases the lock; undefined if another process holds it.
 */
export function holdLock(path: string): (() => void) | undefined {
  const db = new Database(path, { timeout: 0 });
  try {
    // Nothing is ever written, so no journal file is needed.
    db.pragma("journal_mode = MEMORY");
    db.exec("BEGIN EXCLUSIVE");
    return () => db.close();
  } catch (error) {
    db.close();
    if ((error as { code?: string }).code === "SQLITE_BUSY") return undefined;
    throw error;
  }
}

/** What `mkdtemp` adds to a prefix. */
const RANDOM = /[A-Za-z0-9]{6}$/;
const LOCK = "backup.lock";

/**
 * Makes a temporary folder for copies of data, and removes it at the end. It also removes the
 * folders beside it that killed processes left, as these have keys in them.
 * @param prefix the path of the folder, to which six characters are added.
 * @param isAlike whether a name without these characters is of such a folder.
 */
export async function withLockedFolder<T>(
  prefix: string,
  isAlike: (name: string) => boolean,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  await sweep(dirname(prefix), isAlike);
  const folder = await mkdtemp(prefix);
  const release = holdLock(join(folder, LOCK))!;
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
    release();
  }
}

async function sweep(folder: string, isAlike: (name: string) => boolean): Promise<void> {
  for (const name of await readdir(folder)) {
    const lock = join(folder, name, LOCK);
    const isTemporary = RANDOM.test(name) && isAlike(name.slice(0, -6));
    if (!isTemporary || !(await exists(lock))) continue;
    const release = holdLock(lock);
    if (!release) continue;
    await rm(join(folder, name), { recursive: true, force: true });
    release();
  }
}

export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
