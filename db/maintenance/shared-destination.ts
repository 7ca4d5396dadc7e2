import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TableTarget } from "../copies/dump.js";
import type { FileStore } from "../contract/files.js";
import type { Destination } from "./destination.js";
import { ArchiveError } from "./manifest.js";

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
  const scratch = await mkdtemp(join(tmpdir(), "foyer-restore-"));
  async function end(): Promise<void> {
    await tables.close();
    await rm(scratch, { recursive: true, force: true });
  }
  try {
    if (!(await tables.isEmpty())) {
      throw new ArchiveError(
        `${name} is not empty; a backup can only be restored into an empty database.`,
      );
    }
  } catch (error) {
    await end();
    throw error;
  }
  return {
    name,
    tables,
    files,
    scratch,
    database: undefined,
    refuseFull: (keys) => refuseStrangers(files, keys),
    finish: () => tables.finish(),
    async close() {
      await end();
      await files.close();
    },
  };
}

/** Refuses files that are not in the archive. Files of a killed restore are in it. */
export async function refuseStrangers(
  files: FileStore,
  keys: ReadonlySet<string>,
): Promise<void> {
  for await (const { key } of files.keys()) {
    if (keys.has(key)) continue;
    throw new ArchiveError(
      `The file store is not empty: it has ${key}, which the backup does not have.`,
    );
  }
}
