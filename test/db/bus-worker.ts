import { ClusterBus } from "../../db/bus/cluster.js";
import { ValkeyBus } from "../../db/bus/valkey/bus.js";
import { BusNode, type Method } from "./bus-node.js";

// A process of the tests of buses, which does what it is told.

/** Which Valkey a process uses. */
export interface Through {
  url: string;
  namespace: string;
}

/**
 * A method of {@link BusNode}, or `begin` for one that nobody has used: through
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

let node: BusNode | undefined;

process.on("message", (message: Partial<Order> | null) => {
  // The bus and orders share the channel, as in a cluster.
  if (message?.order === undefined) return;
  void obey(message as Order);
});

async function obey({ order, method, args }: Order): Promise<void> {
  let result: unknown;
  if (method === "begin") {
    await node?.close();
    const [through] = args as [Through?];
    node = await BusNode.open((onFault) =>
      through
        ? ValkeyBus.open({ ...through, onFault })
        : new ClusterBus(process, onFault, process.env.BUS_PROCESS!),
    );
  } else {
    result = await node!.run(method, args);
  }
  const answer: Answer = { order, result };
  process.send!(answer, undefined, undefined, () => {});
}
