import { ClusterEvents } from "../../db/cluster/events.js";
import { EventsNode, type Method } from "./events-node.js";

// One worker of events.test.ts, which does what it is told.

/** A method of {@link EventsNode}, or `begin` for one that nobody has used. */
export interface Order {
  order: number;
  method: Method | "begin";
  args: unknown[];
}

export interface Answer {
  order: number;
  result: unknown;
}

let node: EventsNode | undefined;

process.on("message", (message: Partial<Order>) => {
  // Events and orders share the channel, as in a cluster.
  if (message.order === undefined) return;
  void obey(message as Order);
});

async function obey({ order, method, args }: Order): Promise<void> {
  let result: unknown;
  if (method === "begin") {
    await node?.close();
    node = new EventsNode(
      (onFault) =>
        new ClusterEvents(process, onFault, process.env.EVENTS_PROCESS!),
    );
  } else {
    result = await node!.run(method, args);
  }
  const answer: Answer = { order, result };
  process.send!(answer, undefined, undefined, () => {});
}
