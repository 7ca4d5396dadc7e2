import { type FileHandle, mkdtemp, open, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { syncFolder } from "../local/disk.js";
import { exists, withLockedFolder } from "../local/locked-folder.js";
import { ArchiveError } from "./manifest.js";

/**
 * Copies bytes to a temporary file without a name, so that a killed process leaves nothing.
 * The caller closes it.
 */
export async function unnamedFile(bytes: AsyncIterable<Uint8Array | string>): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), "foyer-"));
  let file: FileHandle;
  try {
    file = await open(join(folder, "copy"), "wx+", 0o600);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  try {
    for await (const chunk of bytes) await file.appendFile(chunk);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The end of the name of the folder in which a file is made. */
const PART = ".part-";

/**
 * Makes a file that appears complete or not at all.
 * @param target a file that does not exist yet.
 * @param make writes the file `archive` in a folder, which is removed at the end.
 * @throws {ArchiveError} if the file exists.
 */
export async function newFile<T>(
  target: string,
  make: (folder: string, archive: string) => Promise<T>,
): Promise<T> {
  const path = resolve(target);
  await refuseExisting(path);
  const isPart = (name: string) => name.endsWith(PART);
  return withLockedFolder(path + PART, isPart, async (folder) => {
    const archive = join(folder, "archive");
    const made = await make(folder, archive);
    await refuseExisting(path);
    await rename(archive, path);
    await syncFolder(dirname(path));
    return made;
  });
}

async function refuseExisting(path: string): Promise<void> {
  if (await exists(path)) throw new ArchiveError(`${path} exists already.`);
}
