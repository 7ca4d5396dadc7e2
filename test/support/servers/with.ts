import { spawn } from "node:child_process";
import { once } from "node:events";
import { NO_SERVERS } from "../shared.js";
import { startStack } from "./stack.js";

// Runs a command beside PostgreSQL, Valkey and S3, whose addresses are in its environment:
// node dist/test/support/servers/with.js npx tap test/contract/engines/postgres.test.ts

const [command, ...args] = process.argv.slice(2);
if (command === undefined) throw new Error("Name the command that needs the servers.");

// A command that runs under this program may use it again.
const stack = NO_SERVERS ? await startStack() : undefined;
try {
  const env = { ...process.env, ...stack?.env };
  const child = spawn(command, args, { stdio: "inherit", env });
  // The terminal sends its signals to the command, too; the servers end after it.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
  const [code] = (await once(child, "exit")) as [number | null];
  process.exitCode = code ?? 1;
} finally {
  await stack?.close();
}
