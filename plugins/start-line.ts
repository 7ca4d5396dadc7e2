import type { Config } from "../config.js";
import { addressOf } from "../db/choice.js";
import { version } from "../schemas/plain/version.js";

/** The first line of a server's log: its version, and the place of its data. It has no secret. */
export function startLine(
  { dataDir, engines, workers }: Config,
  worlds: number,
): [fields: object, line: string] {
  const { database, valkeyUrl, bucket } = engines;
  const hostOf = (url: string) => new URL(url).host;
  const fields = {
    version,
    engine: database ? "postgresql" : "sqlite",
    ...(database && { database: addressOf(database.url) }),
    ...(valkeyUrl !== undefined && { valkey: hostOf(valkeyUrl) }),
    ...(bucket && { bucket: bucket.bucket }),
    folder: dataDir,
    worlds,
    workers,
  };
  const hint = worlds === 0 ? " (foyer world create makes one)" : "";
  const endpoint = bucket?.endpoint && ` at ${hostOf(bucket.endpoint)}`;
  const parts = [
    `${counted(worlds, "world")}${hint} in ${database ? `PostgreSQL, ${fields.database}` : "SQLite"}`,
    ...(valkeyUrl === undefined ? [] : [`Valkey at ${fields.valkey}`]),
    bucket ? `files in the bucket ${bucket.bucket}${endpoint ?? ""}` : "files in a folder",
    `DATA_DIR ${dataDir}`,
    counted(workers, "worker"),
  ];
  return [fields, `Foyer ${version}: ${parts.join("; ")}`];
}

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;
