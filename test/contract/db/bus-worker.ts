import { obey, openBus, type Through } from "./bus-fork.js";
import { BusNode, type Method } from "./bus-node.js";

// A process of the tests of buses, which carries out commands.

let node: BusNode | undefined;

obey(async (method, args) => {
  if (method !== "begin") return node!.run(method as Method, args);
  await node?.close();
  const [through] = args as [Through?];
  node = await BusNode.open((onFault) => openBus(onFault, through));
  return undefined;
});
