import { createRequire } from "node:module";
import { StoreError } from "./contract/store.js";

/** The engines that several machines share. An engine that is omitted runs embedded in the process. */
export interface EngineChoice {
  database?: DatabaseOptions;
  valkeyUrl?: string;
  bucket?: BucketOptions;
}

export interface DatabaseOptions {
  url: string;
  /** The maximum number of connections, not counting the one for the heartbeat. */
  pool: number;
}

/** Connection options for a bucket. The credentials come from the environment. */
export interface BucketOptions {
  bucket: string;
  endpoint?: string;
  region: string;
  forcePathStyle: boolean;
  /** Whether clients load files directly from the bucket. */
  redirect: boolean;
}

/** The schema version of a database, and the latest version, which this version of Foyer requires. */
export interface SchemaVersions {
  present: number;
  latest: number;
}

/** Returns a description of a database for use in messages. Omits secrets. */
export function addressOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `the database ${pathname.slice(1)} at ${host}`;
}

const { resolve } = createRequire(import.meta.url);

/** The npm packages that each shared engine requires. */
const PACKAGES = {
  DATABASE_URL: ["pg@8"],
  VALKEY_URL: ["@redis/client@6"],
  S3_BUCKET: ["@aws-sdk/client-s3@3", "@aws-sdk/s3-request-presigner@3"],
};

/**
 * Rejects engines whose packages are missing. The packages are optional, because a single machine
 * needs none of them.
 * @throws {StoreError} `unusable`, with a one-line message that contains the install command.
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
    `${refused.join(", ")}: requires packages that are not installed; run npm install ${packages} where foyer-server is installed, with -g if that is global`,
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
