import { Failure } from "../../schemas/plain/failure.js";
import type { SchemaVersions } from "../choice.js";
import { refuseMissing, upgradeIn, versionsIn } from "../engines/sqlite/engine/sqlite-database.js";
import { type Eraser, finishErasures } from "../erasure/erasure-job.js";
import type { Place } from "./place.js";

/**
 * Which version the tables have. Nothing changes.
 * @throws {StoreError} `unusable` with one line for the operator, also if there are none.
 */
export async function versionsOf({ dataDir, database }: Place): Promise<SchemaVersions> {
  if (!database) return versionsIn(dataDir);
  const shared = await import("../engines/postgres/engine/open-shared.js");
  return shared.versionsIn(database);
}

/**
 * Upgrades the tables. A server that has them open, of any version, is a reason to fail.
 * @param log gets a line if something changed.
 * @throws {StoreError} `unusable` with one line for the operator.
 */
export async function upgrade(
  { dataDir, database }: Place,
  log: (line: string) => void,
): Promise<void> {
  if (!database) return upgradeIn(dataDir, log);
  const shared = await import("../engines/postgres/engine/open-shared.js");
  await shared.upgradeTables(database, log);
}

/** How long the job may run. */
const LIMIT_MS = 3_600_000;

/** How often it is tried again while something keeps it from its work, each after a moment. */
const TRIES = 50;

interface Maintained {
  /** When the first of what was left had been erased; null if nothing was left. */
  erased_at: string | null;
  /** What was done, such as "rewrote users". */
  done: string[];
}

/**
 * Removes the bytes of all that was erased from the files of the database, also while a server
 * runs.
 * @throws {Failure} if something keeps them there.
 * @throws {StoreError} `unusable` with one line for the operator.
 */
export async function maintain(place: Place): Promise<Maintained> {
  const eraser = await openEraser(place);
  try {
    const oldest = await eraser.oldest();
    if (oldest === undefined) return { erased_at: null, done: [] };
    const erased_at = new Date(oldest).toISOString();
    try {
      const done = await finishErasures(eraser, "now", { limit: LIMIT_MS, tries: TRIES });
      const left = await eraser.oldest();
      if (left !== undefined && left <= oldest) throw new Error("there was not enough time");
      return { erased_at, done: [...new Set(done)] };
    } catch (error) {
      const { message } = error as Error;
      throw new Failure(`data that was erased at ${erased_at} is still in the files: ${message}`);
    }
  } finally {
    await eraser.close();
  }
}

async function openEraser({ dataDir, database }: Place): Promise<Eraser> {
  if (database) {
    const { openPostgresEraser } = await import("../engines/postgres/erasure/postgres-eraser.js");
    return openPostgresEraser(database);
  }
  refuseMissing(dataDir);
  const { openSqliteEraser } = await import("../engines/sqlite/erasure/sqlite-eraser.js");
  return openSqliteEraser(dataDir);
}
