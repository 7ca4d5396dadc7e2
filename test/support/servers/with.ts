import { spawn } from "node:child_process";
import { once } from "node:events";
import { NO_SERVERS } from "../shared.js";
import { startStack } from "./stack.js";

// Runs a command next to PostgreSQL, Valkey and S3, and passes it their addresses as environment
// variables:
//   node dist/test/support/servers/with.js npx tap test/contract/engines/postgres.test.ts

const [command, ...args] = process.argv.slice(2);
if (command === undefined) throw new Error("Name the command that needs the servers.");

// Nested calls reuse the running servers.
const stack = NO_SERVERS ? await startStack() : undefined;
try {
  const env = { ...process.env, ...stack?.env };
  const child = spawn(command, args, { stdio: "inherit", env });
  // The terminal also sends its signals to the command. The servers end after the command.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
  const [code] = (await once(child, "exit")) as [number | null];
  process.exitCode = code ?? 1;
} finally {
  await stack?.close();
}
