import { randomUUID } from "node:crypto";
import type { Test } from "tap";
import { ValkeyBus } from "../../db/bus/valkey/bus.js";
import { until } from "../helper.js";
import { BusNode } from "../db/bus-node.js";

/** Within what time the others must count a silent process as ended, in milliseconds. */
export const ENDING = 7000;

/** Opens a bus in this process, which listens as `a`. */
export async function open(
  t: Test,
  url: string,
  namespace: string,
): Promise<BusNode> {
  const node = await BusNode.open((onFault) =>
    ValkeyBus.open({ url, namespace, onFault }),
  );
  t.teardown(() => node.close());
  node.subscribe("a");
  return node;
}

export const numbered = (name: string, from: number, count: number) =>
  Array.from({ length: count }, (_, i) => `${name}.${from + i}`);

/** What a node got from another. */
export const of = (node: BusNode, name: string): string[] =>
  node.received("a").filter((text) => text.startsWith(`${name}.`));

export const has = (node: BusNode, signal: string): boolean =>
  node.signals().includes(signal);

/** Whether a process takes part, after it has been away. */
export const isBack = (node: BusNode, name: string): boolean =>
  node.signals().findLast((signal) => signal.endsWith(name)) ===
  `began ${name}`;

/** Waits until everything that is published now reaches all, and all joins are known. */
export async function converged(nodes: readonly BusNode[]): Promise<void> {
  await until(() => nodes.every((node) => node.state().connected));
  for (const node of nodes) {
    const mark = randomUUID();
    node.mark(mark);
    await until(() => nodes.every((other) => other.marks()!.includes(mark)));
  }
}
