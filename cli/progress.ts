import type { Report } from "../db/maintenance/progress.js";
import { Failure } from "../schemas/plain/failure.js";
import { context } from "./context.js";

/** How often a terminal shows progress, in milliseconds. */
const INTERVAL = 100;

/**
 * Runs long work: shows on a terminal how far it is, and ends it in good order
 * when the operator stops it. On a pipe it says nothing.
 */
export async function withProgress<T>(
  run: (report: Report) => Promise<T>,
): Promise<T> {
  const { stderr } = context();
  let stopped = false;
  let shown = 0;
  const stop = () => (stopped = true);
  // A second signal ends the process where it is.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, stop);
  try {
    return await run((step, done, of) => {
      if (stopped) throw new Failure("Stopped. Nothing was done.");
      if (!stderr.isTTY || Date.now() - shown < INTERVAL) return;
      shown = Date.now();
      const percent =
        of > 0 ? Math.min(100, Math.floor((100 * done) / of)) : 100;
      stderr.write(`\r\x1b[K${step}: ${percent}%`);
    });
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"]) process.off(signal, stop);
    if (shown > 0) stderr.write("\r\x1b[K");
  }
}
