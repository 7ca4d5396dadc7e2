import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { Test } from "tap";
import type { Remote } from "./bus-node.js";
import type { Answer, Through } from "./bus-worker.js";

const WORKER = fileURLToPath(new URL("bus-worker.js", import.meta.url));

export interface WorkerNode extends Remote {
  begin(through?: Through): Promise<void>;
}

/** A process of its own that publishes and listens. */
export interface Forked {
  child: ChildProcess;
  /** Under which a primary announces its end. */
  name: string;
  node: WorkerNode;
}

/** Starts a process, which ends with the test. */
export function forkNode(t: Test): Forked {
  const name = randomUUID();
  const child = fork(WORKER, { execArgv: [], env: { BUS_PROCESS: name } });
  t.teardown(() => child.kill("SIGKILL"));
  return { child, name, node: nodeOf(child) };
}

/** Gives a worker its orders. */
function nodeOf(child: ChildProcess): WorkerNode {
  const waiting = new Map<number, (result: unknown) => void>();
  let last = 0;
  child.on("message", (answer: Answer | null) => {
    // The bus and answers share the channel.
    if (!answer) return;
    waiting.get(answer.order)?.(answer.result);
    waiting.delete(answer.order);
  });
  return new Proxy({} as WorkerNode, {
    // A promise asks its value whether it is one, too.
    get: (_, method) =>
      method === "then"
        ? undefined
        : (...args: unknown[]) =>
            new Promise((resolve) => {
              const order = ++last;
              waiting.set(order, resolve);
              child.send({ order, method, args }, () => {});
            }),
  });
}
