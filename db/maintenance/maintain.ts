import { Failure } from "../../schemas/plain/failure.js";
import type { SchemaVersions } from "../choice.js";
import { refuseMissing, upgradeIn, versionsIn } from "../engines/sqlite/engine/sqlite-database.js";
import { type Eraser, finishErasures } from "../erasure/erasure-job.js";
import type { StorageLocation } from "./storage-location.js";

/**
 * Returns the schema versions of the tables, without changing anything.
 * @throws {StoreError} `unusable`, with a one-line message for the operator, for example if there
 * are no tables.
 */
export async function versionsOf({ dataDir, database }: StorageLocation): Promise<SchemaVersions> {
  if (!database) return versionsIn(dataDir);
  const shared = await import("../engines/postgres/engine/open-shared.js");
  return shared.versionsIn(database);
}

/**
 * Upgrades the tables. Fails if a server of any version has the tables open.
 * @param log receives a line if the tables were upgraded.
 * @throws {StoreError} `unusable`, with a one-line message for the operator.
 */
export async function upgrade(
  { dataDir, database }: StorageLocation,
  log: (line: string) => void,
): Promise<void> {
  if (!database) return upgradeIn(dataDir, log);
  const shared = await import("../engines/postgres/engine/open-shared.js");
  await shared.upgradeTables(database, log);
}

const LIMIT_MS = 3_600_000;

/** Maximum number of consecutive retries while the job is blocked. A short pause precedes each retry. */
const TRIES = 50;

interface Maintained {
  /** Time of the oldest erasure whose bytes were still in the files; null if no such bytes were left. */
  erased_at: string | null;
  /** The completed steps, such as "rewrote users". */
  done: string[];
}

/**
 * Removes the bytes of all erased data from the database files, even while a server is running.
 * @throws {Failure} if some of the bytes cannot be removed.
 * @throws {StoreError} `unusable`, with a one-line message for the operator.
 */
export async function maintain(place: StorageLocation): Promise<Maintained> {
  const eraser = await openEraser(place);
  try {
    const oldest = await eraser.oldest();
    if (oldest === undefined) return { erased_at: null, done: [] };
    const erased_at = new Date(oldest).toISOString();
    try {
      const done = await finishErasures(eraser, "now", { limit: LIMIT_MS, tries: TRIES });
      const left = await eraser.oldest();
      if (left !== undefined && left <= oldest) throw new Error("it took too long");
      return { erased_at, done: [...new Set(done)] };
    } catch (error) {
      const { message } = error as Error;
      throw new Failure(`data erased at ${erased_at} is still in the files: ${message}`);
    }
  } finally {
    await eraser.close();
  }
}

async function openEraser({ dataDir, database }: StorageLocation): Promise<Eraser> {
  if (database) {
    const { openPostgresEraser } = await import("../engines/postgres/erasure/postgres-eraser.js");
    return openPostgresEraser(database);
  }
  refuseMissing(dataDir);
  const { openSqliteEraser } = await import("../engines/sqlite/erasure/sqlite-eraser.js");
  return openSqliteEraser(dataDir);
}
