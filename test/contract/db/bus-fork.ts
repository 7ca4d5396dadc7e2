import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { Test } from "tap";
import { type Bus, LocalBus, type OnFault } from "../../../db/bus/bus.js";
import { ClusterBus, relayMessages } from "../../../db/bus/cluster.js";
import { ValkeyBus } from "../../../db/bus/valkey/valkey-bus.js";
import type { Remote } from "./bus-node.js";

/** The bus of a process: Valkey, or one that reaches no other process. Defaults to the cluster's bus. */
export type Through = "nothing" | { url: string; namespace: string };

/** Opens the bus of a process started by {@link forkProcess}. */
export async function openBus(onFault: OnFault, through?: Through): Promise<Bus> {
  if (through === "nothing") return new LocalBus(onFault);
  if (through) return ValkeyBus.open({ ...through, onFault });
  return new ClusterBus(process, onFault, process.env.BUS_PROCESS!);
}

/** A child process under remote control. */
export interface Forked<T> {
  child: ChildProcess;
  /** The name under which the primary announces that the process ended. */
  name: string;
  node: T;
}

export interface WorkerNode extends Remote {
  begin(through?: Through): Promise<void>;
}

/**
 * Forks a process, which is killed at the end of the test.
 * @param script a file in this folder that calls {@link serveOrders}.
 */
export function forkProcess<T extends object>(t: Test, script: string): Forked<T> {
  const name = randomUUID();
  const path = fileURLToPath(new URL(script, import.meta.url));
  const env = { ...process.env, BUS_PROCESS: name };
  const child = fork(path, { execArgv: [], env });
  t.teardown(() => child.kill("SIGKILL"));
  return { child, name, node: nodeOf<T>(child) };
}

/** Forks a process that publishes and subscribes. */
export const forkNode = (t: Test): Forked<WorkerNode> => forkProcess(t, "bus-worker.js");

/** Connects processes like the workers of a cluster. */
export function relayAmong(forked: readonly Forked<object>[]): void {
  const living = new Set<ChildProcess>();
  for (const { child, name } of forked) {
    living.add(child);
    child.once("exit", () => living.delete(child));
    relayMessages(child, name, () => living);
  }
}

/** Returns a proxy that sends each method call to a process. */
function nodeOf<T extends object>(child: ChildProcess): T {
  interface Waiting {
    resolve: (result: unknown) => void;
    reject: (error: Error) => void;
  }
  const waiting = new Map<number, Waiting>();
  let last = 0;
  child.on("message", (answer: Answer | null) => {
    // The bus and the answers share one channel.
    if (!answer) return;
    waiting.get(answer.order)?.resolve(answer.result);
    waiting.delete(answer.order);
  });
  // A process that a test ends leaves its last orders unanswered.
  child.once("exit", (code) => {
    if (!code) return;
    for (const { reject } of waiting.values()) {
      reject(new Error(`The process has ended with ${code}.`));
    }
  });
  return new Proxy({} as T, {
    // `await` checks whether the proxy is a thenable.
    get: (_, method) =>
      method === "then"
        ? undefined
        : (...args: unknown[]) =>
            new Promise((resolve, reject) => {
              const order = ++last;
              waiting.set(order, { resolve, reject });
              child.send({ order, method, args }, () => {});
            }),
  });
}

/** A method call for a process to run. */
export interface Order {
  order: number;
  method: string;
  args: unknown[];
}

/** The result of an {@link Order}. */
export interface Answer {
  order: number;
  result: unknown;
}

/**
 * Runs the orders of the parent process.
 * @param run executes an order. It must not fail.
 */
export function serveOrders(run: (method: string, args: unknown[]) => unknown): void {
  process.on("message", (message: Partial<Order> | null) => {
    // The bus and the orders share one channel, as in a cluster.
    if (message?.order === undefined) return;
    const { order, method, args } = message as Order;
    void Promise.resolve(run(method, args)).then((result) => {
      const answer: Answer = { order, result };
      process.send!(answer, undefined, undefined, () => {});
    });
  });
}
