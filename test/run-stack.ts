import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownerIn } from "./servers/owner.js";
import { startPostgres } from "./servers/postgres.js";
import { startS3 } from "./servers/s3.js";
import type { Addresses } from "./servers/shared.js";
import { startValkey } from "./servers/valkey.js";

// Runs tests on PostgreSQL, Valkey and S3: node dist/test/run-stack.js [<file> ...]. It
// starts the servers once; test/stack.ts gives each test what it needs of them.

/**
 * What runs by default, beside the contract that test:engines holds the engines to: all
 * rows of the protocol on two nodes, files, the feed, and a command.
 */
const FEW = [
  "system/conformance",
  "integrate/feed",
  ...["files", "media", "uploads"].map((name) => `routes/${name}`),
  "cli/worlds",
];

/** Everything that asks a server for something, and the commands: by night, with `ALL=1`. */
const ALL = [
  ...["access", "cli", "client", "harness", "live", "plugins", "routes"],
  ...[
    "server",
    ...[
      ...["chat", "cli", "client", "harness", "integrate", "live", "plugins"],
      ...["program", "routes", "votes"],
    ].map((name) => `${name}/all`),
  ],
  ...["chat-workers", "cluster", "conformance"].map((name) => `system/${name}`),
  "system/live-workers",
];

const pathOf = (name: string): string => {
  const isTest = !name.endsWith("/all");
  return join(import.meta.dirname, `${name}${isTest ? ".test" : ""}.js`);
};

const TESTS = (process.env.ALL === "1" ? ALL : FEW).map(pathOf);

/** After how many seconds a file hangs; a busy machine takes several times as long as a free one. */
const TIMEOUT = 900;

const ends: (() => unknown)[] = [];
const folder = mkdtempSync(join(tmpdir(), "foyer-stack-"));

const owner = ownerIn(folder, (end) => void ends.push(end));

async function main(): Promise<number> {
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
  const files = process.argv.slice(2);
  const args = [`--timeout=${TIMEOUT}`, ...(files.length > 0 ? files : TESTS)];
  const tap = spawn("npx", ["tap", ...args], {
    env: {
      ...process.env,
      ...addresses,
      AWS_ACCESS_KEY_ID: s3.variables.AWS_ACCESS_KEY_ID,
      AWS_SECRET_ACCESS_KEY: s3.variables.AWS_SECRET_ACCESS_KEY,
      STACK: "shared",
    },
    stdio: "inherit",
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => tap.kill(signal));
  }
  const [code] = (await once(tap, "close")) as [number | null];
  return code ?? 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
} finally {
  for (const end of ends.reverse()) await end();
  rmSync(folder, { recursive: true, force: true });
}
