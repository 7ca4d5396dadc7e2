import { randomUUID } from "node:crypto";
import type { Test } from "tap";
import { ValkeyEvents } from "../../db/valkey/events.js";
import { until } from "../helper.js";
import { EventsNode } from "../db/events-node.js";

/** Within what time the others must count a silent process as ended, in milliseconds. */
export const ENDING = 7000;

/** Opens events in this process, which listen as `a`. */
export async function open(
  t: Test,
  url: string,
  namespace: string,
): Promise<EventsNode> {
  const node = await EventsNode.open((onFault) =>
    ValkeyEvents.open({ url, namespace, onFault }),
  );
  t.teardown(() => node.close());
  node.subscribe("a");
  return node;
}

export const numbered = (name: string, from: number, count: number) =>
  Array.from({ length: count }, (_, i) => `${name}.${from + i}`);

/** What a node got of another. */
export const of = (node: EventsNode, name: string): string[] =>
  node.received("a").filter((world) => world.startsWith(`${name}.`));

export const has = (node: EventsNode, signal: string): boolean =>
  node.signals().includes(signal);

/** Whether a process takes part, after it has been away. */
export const isBack = (node: EventsNode, name: string): boolean =>
  node.signals().findLast((signal) => signal.endsWith(name)) ===
  `began ${name}`;

/** Waits until everything that is published now reaches all. */
export async function converged(nodes: readonly EventsNode[]): Promise<void> {
  await until(() => nodes.every((node) => node.state().connected));
  for (const node of nodes) {
    const mark = randomUUID();
    node.mark(mark);
    await until(() => nodes.every((other) => other.marks()!.includes(mark)));
  }
}
