import { openFiles } from "../blobs/folder/local-files.js";
import { addressOf, type DatabaseOptions, type EngineChoice } from "../choice.js";
import type { FileStore } from "../contract/file-store.js";
import type { TableSource } from "../copies/dump.js";
import { sqliteSource } from "../engines/sqlite/copies/sqlite-dump.js";
import { refuseMissing } from "../engines/sqlite/engine/sqlite-database.js";
import { type Destination, folderDestination, sharedDestination } from "./destination.js";
import type { ReportProgress } from "./manifest.js";

/** The options that select the engines for a backup or a restore. */
export interface StorageLocation extends EngineChoice {
  /** The folder that contains the database and the files, unless they are stored elsewhere. */
  dataDir: string;
}

/** The engines of a storage location, for a backup or a restore. They are opened lazily. */
interface Maintenance {
  readonly name: string;
  /** Opens the current rows. May copy them into `scratch`. */
  source(scratch: string, report: ReportProgress): Promise<TableSource>;
  /** Opens the existing files. */
  files(): Promise<FileStore>;
  destination(): Promise<Destination>;
}

/** Selects engines in the same way as db/open.ts. */
export const openMaintenance = (place: StorageLocation): Maintenance =>
  place.database ? shared(place, place.database) : embedded(place);

const embedded = ({ dataDir, bucket }: StorageLocation): Maintenance => ({
  name: dataDir,
  source: (scratch, report) =>
    sqliteSource(dataDir, scratch, (copied, total) =>
      report("Copying the database", copied, total),
    ),
  async files() {
    refuseMissing(dataDir);
    return openFiles(dataDir, bucket);
  },
  async destination() {
    if (!bucket) return folderDestination(dataDir);
    const files = await openFiles(dataDir, bucket);
    return closeOnFailure(files, () => folderDestination(dataDir, files));
  },
});

const shared = ({ dataDir, bucket }: StorageLocation, { url }: DatabaseOptions): Maintenance => ({
  name: addressOf(url),
  async source() {
    const { postgresSource } = await import("../engines/postgres/copies/postgres-dump.js");
    return postgresSource(url);
  },
  files: () => openFiles(dataDir, bucket),
  async destination() {
    const { postgresTarget } = await import("../engines/postgres/copies/postgres-dump.js");
    const files = await openFiles(dataDir, bucket);
    return closeOnFailure(files, async () =>
      sharedDestination(addressOf(url), await postgresTarget(url), files),
    );
  },
});

/** Opens an object that takes ownership of `files`. Closes `files` if `open` fails. */
async function closeOnFailure<T>(files: FileStore, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    await files.close();
    throw error;
  }
}
