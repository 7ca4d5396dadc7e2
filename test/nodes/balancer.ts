import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import type { Test } from "tap";

/**
 * Starts a load balancer without sticky sessions: each connection goes to the next of some
 * ports that takes one.
 * @returns its port.
 */
export async function startBalancer(t: Test, ports: readonly number[]): Promise<number> {
  const sockets = new Set<Socket>();
  let turn = 0;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    sockets.add(client.on("error", () => {}));
    const attempt = (left: number) => {
      if (left === 0) return void client.destroy();
      const node = connect(ports[turn++ % ports.length]!, "127.0.0.1");
      sockets.add(node);
      node.once("error", () => attempt(left - 1));
      node.once("connect", () => {
        node.removeAllListeners("error").on("error", () => {});
        client.pipe(node).pipe(client);
        client.once("close", () => node.destroy());
        node.once("close", () => client.destroy());
      });
    };
    attempt(ports.length);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
