import { createRequire } from "node:module";
import { StoreError } from "./contract/store.js";

/** The engines that several machines share. An omitted one is embedded. */
export interface EngineChoice {
  database?: DatabaseOptions;
  valkeyUrl?: string;
  bucket?: BucketOptions;
}

export interface DatabaseOptions {
  url: string;
  /** The largest number of connections, beside the one with the heartbeat. */
  pool: number;
}

/** How a bucket is reached. The credentials are in the environment. */
export interface BucketOptions {
  bucket: string;
  endpoint?: string;
  region: string;
  forcePathStyle: boolean;
  /** Whether clients load files from the bucket themselves. */
  redirect: boolean;
}

/** Which version the tables of a database have, and which one this Foyer works with. */
export interface SchemaVersions {
  present: number;
  latest: number;
}

/** The name of a database in messages, without secrets. */
export function addressOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `the database ${pathname.slice(1)} at ${host}`;
}

const { resolve } = createRequire(import.meta.url);

/** The packages that engines need beyond the embedded ones, as npm installs them. */
const PACKAGES = {
  DATABASE_URL: ["pg@8"],
  VALKEY_URL: ["@redis/client@6"],
  S3_BUCKET: ["@aws-sdk/client-s3@3", "@aws-sdk/s3-request-presigner@3"],
};

/**
 * Refuses engines whose packages are missing. They are optional, as one machine needs none.
 * @throws {StoreError} `unusable`, with one line that has the command to install them.
 */
export function refuseMissingPackages(choice: EngineChoice): void {
  const { database, valkeyUrl, bucket } = choice;
  const chosen = { DATABASE_URL: database, VALKEY_URL: valkeyUrl, S3_BUCKET: bucket };
  const variables = Object.keys(PACKAGES) as (keyof typeof PACKAGES)[];
  const refused = variables.filter((name) => chosen[name] && !PACKAGES[name].every(isInstalled));
  if (refused.length === 0) return;
  const packages = refused.flatMap((name) => PACKAGES[name]).join(" ");
  throw new StoreError(
    "unusable",
    `${refused.join(", ")}: needs packages that are not installed; run npm install ${packages} where foyer-server is, with -g if it is global`,
  );
}

function isInstalled(spec: string): boolean {
  try {
    resolve(spec.replace(/@\d+$/, ""));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "MODULE_NOT_FOUND") {
      return false;
    }
    throw error;
  }
}
