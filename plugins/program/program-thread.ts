import { parentPort } from "node:worker_threads";
import { InvalidData } from "../../schemas/validate.js";
import { type TaskResult, type ImportPorts, type PortCall, run, type Task } from "./tasks.js";

// The worker thread that formats.ts starts. The thread receives one task, may request data and
// writes from its parent during an import, and posts the outcome.

const port = parentPort!;

const ask = <T>(question: PortCall): Promise<T> =>
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
    (value) => port.postMessage({ value } satisfies TaskResult),
    (error: unknown) => {
      // An error that is not the document's fault crashes the thread, and thus reaches the parent.
      if (!(error instanceof InvalidData)) throw error;
      port.postMessage({ faults: error.faults } satisfies TaskResult);
    },
  );
});
