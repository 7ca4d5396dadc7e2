import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { Test } from "tap";
import { type Bus, LocalBus, type OnFault } from "../../../db/bus/bus.js";
import { ClusterBus, relayMessages } from "../../../db/bus/cluster.js";
import { ValkeyBus } from "../../../db/bus/valkey/valkey-bus.js";
import type { Remote } from "./bus-node.js";

/** Which bus a process uses: a Valkey, or none that reaches others. By default, the bus of a cluster. */
export type Through = "nothing" | { url: string; namespace: string };

/** Opens the bus of a process that {@link forkProcess} started. */
export async function openBus(onFault: OnFault, through?: Through): Promise<Bus> {
  if (through === "nothing") return new LocalBus(onFault);
  if (through) return ValkeyBus.open({ ...through, onFault });
  return new ClusterBus(process, onFault, process.env.BUS_PROCESS!);
}

/** A process of its own, which obeys. */
export interface Forked<T> {
  child: ChildProcess;
  /** Under which a primary announces its end. */
  name: string;
  node: T;
}

export interface WorkerNode extends Remote {
  begin(through?: Through): Promise<void>;
}

/**
 * Starts a process, which ends with the test.
 * @param script beside this one, whose process obeys orders.
 */
export function forkProcess<T extends object>(t: Test, script: string): Forked<T> {
  const name = randomUUID();
  const path = fileURLToPath(new URL(script, import.meta.url));
  const env = { ...process.env, BUS_PROCESS: name };
  const child = fork(path, { execArgv: [], env });
  t.teardown(() => child.kill("SIGKILL"));
  return { child, name, node: nodeOf<T>(child) };
}

/** Starts a process that publishes and listens. */
export const forkNode = (t: Test): Forked<WorkerNode> => forkProcess(t, "bus-worker.js");

/** Ties processes together as the workers of a cluster. */
export function relayAmong(forked: readonly Forked<object>[]): void {
  const living = new Set<ChildProcess>();
  for (const { child, name } of forked) {
    living.add(child);
    child.once("exit", () => living.delete(child));
    relayMessages(child, name, () => living);
  }
}

/** Gives a process its orders. */
function nodeOf<T extends object>(child: ChildProcess): T {
  interface Waiting {
    resolve: (result: unknown) => void;
    reject: (error: Error) => void;
  }
  const waiting = new Map<number, Waiting>();
  let last = 0;
  child.on("message", (answer: Answer | null) => {
    // The bus and answers share the channel.
    if (!answer) return;
    waiting.get(answer.order)?.resolve(answer.result);
    waiting.delete(answer.order);
  });
  // One that a test ends answers no more.
  child.once("exit", (code) => {
    if (!code) return;
    for (const { reject } of waiting.values()) {
      reject(new Error(`The process has ended with ${code}.`));
    }
  });
  return new Proxy({} as T, {
    // A promise asks its value whether it is one, too.
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

/** What a test tells a process to do. */
export interface Order {
  order: number;
  method: string;
  args: unknown[];
}

/** What became of an {@link Order}. */
export interface Answer {
  order: number;
  result: unknown;
}

/**
 * Carries out the orders of the process that started this one.
 * @param run does what an order says. It must not fail.
 */
export function obey(run: (method: string, args: unknown[]) => unknown): void {
  process.on("message", (message: Partial<Order> | null) => {
    // The bus and orders share the channel, as in a cluster.
    if (message?.order === undefined) return;
    const { order, method, args } = message as Order;
    void Promise.resolve(run(method, args)).then((result) => {
      const answer: Answer = { order, result };
      process.send!(answer, undefined, undefined, () => {});
    });
  });
}
