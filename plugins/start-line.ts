import type { Config } from "../config.js";
import { addressOf } from "../db/choice.js";
import { version } from "../schemas/plain/version.js";
import { ENGINE_NAMES, ENGINE_TITLES } from "./calls/engine.js";

/**
 * Returns the first line of a server's log, with Foyer's version and the location of the data. The
 * line contains no secrets.
 */
export function startLine(
  { dataDir, engines, calls, workers }: Config,
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
    ...(calls.livekit && { livekit: hostOf(calls.livekit.url) }),
    ...(calls.bigbluebutton && { bigbluebutton: hostOf(calls.bigbluebutton.url) }),
    ...(calls.jitsi && { jitsi: hostOf(calls.jitsi.url) }),
    folder: dataDir,
    worlds,
    workers,
  };
  const hint = worlds === 0 ? " (create one with foyer world create)" : "";
  const endpoint = bucket?.endpoint && ` at ${hostOf(bucket.endpoint)}`;
  const parts = [
    `${counted(worlds, "world")}${hint} in ${database ? `PostgreSQL, ${fields.database}` : "SQLite"}`,
    ...(valkeyUrl === undefined ? [] : [`Valkey at ${fields.valkey}`]),
    bucket ? `files in the bucket ${bucket.bucket}${endpoint ?? ""}` : "files in a folder",
    ...ENGINE_NAMES.flatMap((name) =>
      fields[name] === undefined ? [] : [`calls over ${ENGINE_TITLES[name]} at ${fields[name]}`],
    ),
    `DATA_DIR ${dataDir}`,
    counted(workers, "worker"),
  ];
  return [fields, `Foyer ${version}: ${parts.join("; ")}`];
}

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;
