import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownerIn } from "./owner.js";
import { startPostgres } from "./postgres.js";
import { startS3 } from "./s3.js";
import type { Addresses } from "./shared.js";
import { startValkey } from "./valkey.js";

/** PostgreSQL, Valkey and S3 for a run of tests. Each data folder has a part of them (shared.ts). */
export interface Stack {
  /** The addresses and credentials, as variables of processes that run tests. */
  readonly env: Record<string, string>;
  close(): Promise<void>;
}

/** Starts the servers. @throws {Error} one line that says what to install, if one is not there. */
export async function startStack(): Promise<Stack> {
  const ends: (() => unknown)[] = [];
  const folder = mkdtempSync(join(tmpdir(), "foyer-stack-"));
  const close = async () => {
    for (const end of ends.reverse()) await end();
    rmSync(folder, { recursive: true, force: true });
  };
  const owner = ownerIn(folder, (end) => void ends.push(end));
  try {
    const [postgres, valkey, s3] = await Promise.all([
      startPostgres(),
      startValkey(owner),
      startS3(owner),
    ]);
    ends.push(() => postgres.close());
    const addresses: Addresses = {
      STACK_POSTGRES: postgres.url(),
      STACK_VALKEY: valkey.url,
      STACK_S3: s3.endpoint,
    };
    const { AWS_ACCESS_KEY_ID = "", AWS_SECRET_ACCESS_KEY = "" } = s3.variables;
    const keys = { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY };
    return { env: { ...addresses, ...keys }, close };
  } catch (error) {
    await close();
    throw error;
  }
}
