#!/usr/bin/env node
import { warn } from "./output.js";
import { report, run } from "./run.js";

// The reader may close the pipe early, as `head` does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") end(() => report(error)).catch(fail);
});

void end(() => run(process.argv.slice(2))).catch(fail);

/** Runs a function, and sets the exit code to its result. */
async function end(work: () => number | Promise<number>): Promise<void> {
  const code = await work();
  // An earlier output error keeps its exit code.
  if (code !== 0) process.exitCode = code;
}

/** Prints the stack trace of a bug in Foyer, and exits. Pending work must not keep the process running. */
function fail(fault: unknown): never {
  const { stack, message } = fault as Error;
  (stack ?? message).split("\n").forEach(warn);
  process.exit(1);
}
