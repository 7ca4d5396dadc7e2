import { access, mkdtemp, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { holdLock } from "./process-lock.js";

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

async function sweep(
  folder: string,
  isAlike: (name: string) => boolean,
): Promise<void> {
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
