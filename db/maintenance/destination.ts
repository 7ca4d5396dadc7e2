import type { TableTarget } from "../copies/dump.js";
import type { FileStore } from "../contract/files.js";
import { ArchiveError } from "./manifest.js";

/** Where a restore brings a backup. It is empty at first. */
export interface Destination {
  /** Its name in messages. */
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
export async function refuseStrangers(files: FileStore, keys: ReadonlySet<string>): Promise<void> {
  for await (const { key } of files.keys()) {
    if (keys.has(key)) continue;
    throw new ArchiveError(
      `The file store is not empty: it has ${key}, which the backup does not have.`,
    );
  }
}
