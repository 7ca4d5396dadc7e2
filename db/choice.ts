/** The engines that several machines share. What is left out is embedded. */
export interface EngineChoice {
  database?: DatabaseOptions;
  /** The address of Valkey or Redis. */
  valkeyUrl?: string;
  bucket?: BucketOptions;
}

/** How PostgreSQL is reached. */
export interface DatabaseOptions {
  url: string;
  /** How many connections there are at most, beside the one that listens. */
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

/** What messages call a database: nothing that is secret. */
export function addressOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `the database ${pathname.slice(1)} at ${host}`;
}
