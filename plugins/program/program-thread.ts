import { parentPort } from "node:worker_threads";
import { InvalidData } from "../../schemas/validate.js";
import { run, type Task, type Done } from "./tasks.js";

// The thread of formats.ts: it receives one task, and answers with what came of it.

parentPort!.once("message", (task: Task) => {
  let done: Done;
  try {
    done = { value: run(task) };
  } catch (error) {
    if (!(error instanceof InvalidData)) throw error;
    done = { faults: error.faults };
  }
  parentPort!.postMessage(done);
});
