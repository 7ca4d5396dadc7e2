import { serveOrders, openBus, type Through } from "./bus-fork.js";
import { BusNode, type Method } from "./bus-node.js";

// A child process of the bus tests that executes commands.

let node: BusNode | undefined;

serveOrders(async (method, args) => {
  if (method !== "begin") return node!.run(method as Method, args);
  await node?.close();
  const [through] = args as [Through?];
  node = await BusNode.open((onFault) => openBus(onFault, through));
  return undefined;
});
