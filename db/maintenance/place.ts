import { openFiles } from "../blobs/folder/local-files.js";
import { addressOf, type DatabaseOptions, type EngineChoice } from "../choice.js";
import type { FileStore } from "../contract/file-store.js";
import type { TableSource } from "../copies/dump.js";
import { sqliteSource } from "../engines/sqlite/copies/sqlite-dump.js";
import { refuseMissing } from "../engines/sqlite/engine/sqlite-database.js";
import { type Destination, folderDestination, sharedDestination } from "./destination.js";
import type { Report } from "./manifest.js";

/** The options that select the engines of a backup or a restore. */
export interface Place extends EngineChoice {
  /** The folder of the database and the files, as far as they are embedded. */
  dataDir: string;
}

/** The engines of a place, for a backup or a restore. Nothing is open yet. */
interface Maintenance {
  readonly name: string;
  /** The rows of this moment. A copy of them may go into a folder. */
  source(scratch: string, report: Report): Promise<TableSource>;
  /** The files that are there. */
  files(): Promise<FileStore>;
  destination(): Promise<Destination>;
}

/** Selects engines as db/open.ts does. */
export const openMaintenance = (place: Place): Maintenance =>
  place.database ? shared(place, place.database) : embedded(place);

const embedded = ({ dataDir, bucket }: Place): Maintenance => ({
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
    return closingUpon(files, () => folderDestination(dataDir, files));
  },
});

const shared = ({ dataDir, bucket }: Place, { url }: DatabaseOptions): Maintenance => ({
  name: addressOf(url),
  async source() {
    const { postgresSource } = await import("../engines/postgres/copies/postgres-dump.js");
    return postgresSource(url);
  },
  files: () => openFiles(dataDir, bucket),
  async destination() {
    const { postgresTarget } = await import("../engines/postgres/copies/postgres-dump.js");
    const files = await openFiles(dataDir, bucket);
    return closingUpon(files, async () =>
      sharedDestination(addressOf(url), await postgresTarget(url), files),
    );
  },
});

/** Opens an owner of the files, which closes them; closes them itself if that fails. */
async function closingUpon<T>(files: FileStore, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    await files.close();
    throw error;
  }
}
