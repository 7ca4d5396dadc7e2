import type { SchemaVersions } from "../choice.js";
import { upgradeIn, versionsIn } from "../sqlite/engine/database.js";
import type { Place } from "./open.js";

/**
 * Which version the tables have. Nothing changes.
 * @throws {StoreError} `unusable` with one line for the operator, also if there are none.
 */
export async function versionsOf({
  dataDir,
  database,
}: Place): Promise<SchemaVersions> {
  if (!database) return versionsIn(dataDir);
  const shared = await import("../postgres/engine/open.js");
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
  const shared = await import("../postgres/engine/open.js");
  await shared.upgradeTables(database, log);
}
