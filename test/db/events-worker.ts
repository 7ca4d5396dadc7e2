import { ClusterEvents } from "../db/bus/cluster.js";
import { ValkeyEvents } from "../../db/valkey/events.js";
import { EventsNode, type Method } from "./events-node.js";

// A process of the tests of events, which does what it is told.

/** Which Valkey a process uses. */
export interface Through {
  url: string;
  namespace: string;
}

/**
 * A method of {@link EventsNode}, or `begin` for one that nobody has used: through
 * Valkey, or without arguments through the primary.
 */
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

process.on("message", (message: Partial<Order> | null) => {
  // Events and orders share the channel, as in a cluster.
  if (message?.order === undefined) return;
  void obey(message as Order);
});

async function obey({ order, method, args }: Order): Promise<void> {
  let result: unknown;
  if (method === "begin") {
    await node?.close();
    const [through] = args as [Through?];
    node = await EventsNode.open((onFault) =>
      through
        ? ValkeyEvents.open({ ...through, onFault })
        : new ClusterEvents(process, onFault, process.env.EVENTS_PROCESS!),
    );
  } else {
    result = await node!.run(method, args);
  }
  const answer: Answer = { order, result };
  process.send!(answer, undefined, undefined, () => {});
}
