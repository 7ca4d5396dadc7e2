import { parentPort } from "node:worker_threads";
import { InvalidData } from "../../schemas/validate.js";
import { type Done, type ImportPorts, type Question, run, type Task } from "./tasks.js";

// The thread of formats.ts: it receives one task, may ask for what an import needs, and answers
// with what came of it.

const port = parentPort!;

const ask = <T>(question: Question): Promise<T> =>
  new Promise((resolve) => {
    port.once("message", resolve);
    port.postMessage({ question });
  });

const ports: ImportPorts = {
  basis: (argument) => ask({ name: "basis", argument }),
  apply: (argument) => ask({ name: "apply", argument }),
};

port.once("message", (task: Task) => {
  run(task, ports).then(
    (value) => port.postMessage({ value } satisfies Done),
    (error: unknown) => {
      // What is no fault of the document ends the thread, which reports it.
      if (!(error instanceof InvalidData)) throw error;
      port.postMessage({ faults: error.faults } satisfies Done);
    },
  );
});
