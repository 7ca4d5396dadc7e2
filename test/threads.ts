import { syncBuiltinESMExports } from "node:module";
import threads, { type WorkerOptions } from "node:worker_threads";

// With FOYER_BUNDLE, the stores of a test start their threads as they ship. A thread then loads
// a few files instead of 140, which takes half the time, and tests start hundreds of threads.

const { Worker } = threads;

/** Where the bundle has the code of a thread. */
function bundled(file: string | URL): string | URL {
  const [, name] = /([a-z]+-thread\.js)$/.exec(String(file)) ?? [];
  return name ? new URL(`../bundle/${name}`, import.meta.url) : file;
}

if (process.env.FOYER_BUNDLE) {
  threads.Worker = class extends Worker {
    constructor(file: string | URL, options?: WorkerOptions) {
      super(bundled(file), options);
    }
  };
  syncBuiltinESMExports();
}
