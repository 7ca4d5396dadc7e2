#!/usr/bin/env node
import { warn } from "./output.js";
import { report, run } from "./run.js";

// The reader of the output may want only its beginning, as `head` does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") end(() => report(error)).catch(fail);
});

void end(() => run(process.argv.slice(2))).catch(fail);

/** Ends with the exit code of something. */
async function end(work: () => number | Promise<number>): Promise<void> {
  const code = await work();
  // An output that failed before keeps its own.
  if (code !== 0) process.exitCode = code;
}

/** Ends the process after a bug in Foyer, with the stack. Pending work must not keep it running. */
function fail(fault: unknown): never {
  const { stack, message } = fault as Error;
  (stack ?? message).split("\n").forEach(warn);
  process.exit(1);
}
