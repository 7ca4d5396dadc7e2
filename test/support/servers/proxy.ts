import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Test } from "tap";

/** A port that leads to another one, unless a test breaks it. */
export interface Proxy {
  readonly port: number;
  /** Resets all connections. New ones come to be. */
  reset(): void;
  /** Resets all connections, and each that comes. */
  cut(): void;
  /** Loses what both sides send. Connections stay open, and new ones come to be. */
  hang(): void;
  /** Loses what the server sends, while the server gets all. */
  deafen(): void;
  /** Forwards again. A connection that has lost something stays dead. */
  heal(): void;
  /** Resets the next connection whose client sends something that ends with this text, when the answer comes. */
  loseAnswer(text: string): void;
  /**
   * Forwards nothing more of the next connection whose client sends something with this text,
   * as a firewall that has forgotten it. It stays open, and all others go on.
   * @param after is in what that client has sent before, so that it is no other connection.
   */
  swallow(text: string, after?: string): void;
}

const DIRECTIONS = ["toServer", "toClient"] as const;

/** Whether something is forwarded, for each direction. */
type Flow = Record<(typeof DIRECTIONS)[number], boolean>;

const FLOWS = {
  well: { toServer: true, toClient: true },
  cut: { toServer: true, toClient: true },
  hanging: { toServer: false, toClient: false },
  deaf: { toServer: true, toClient: false },
} satisfies Record<string, Flow>;

/** Starts a proxy for a port of this machine. */
export async function startProxy(t: Test, to: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let state: keyof typeof FLOWS = "well";
  /** Ends the request whose answer gets lost; empty if none does. */
  let unlucky = "";
  /** Is in what a connection sends before it falls silent; empty if none does. */
  let last = "";
  let before = "";

  const reset = (socket: Socket) => {
    socket.on("error", () => {});
    socket.resetAndDestroy();
  };
  const lead = (client: Socket) => {
    const server = connect(to, "127.0.0.1");
    const ends = { toServer: server, toClient: client };
    const flow: Flow = { toServer: true, toClient: true };
    let isUnlucky = false;
    /** Whether the client has sent what comes before the last. */
    let isIt = false;
    for (const direction of DIRECTIONS) {
      const into = ends[direction];
      const from = into === server ? client : server;
      sockets.add(from);
      from.on("error", () => {});
      from.on("data", (data) => {
        if (into === client && isUnlucky) return reset(client);
        if (into === server && unlucky !== "") {
          isUnlucky = data.toString("latin1").endsWith(unlucky);
          if (isUnlucky) unlucky = "";
        }
        if (into === server && last !== "") {
          isIt ||= data.includes(before);
          if (isIt && data.includes(last)) {
            last = "";
            flow.toServer = flow.toClient = false;
          }
        }
        // What has lost something must not go on.
        for (const one of DIRECTIONS) flow[one] &&= FLOWS[state][one];
        if (flow[direction]) into.write(data);
      });
      from.once("close", () => {
        sockets.delete(from);
        // As in a partition, the other side does not learn of it.
        if (flow[direction] && FLOWS[state][direction]) into.destroy();
      });
    }
  };
  const listener = createServer((client) =>
    state === "cut" ? reset(client) : lead(client),
  ).listen(0, "127.0.0.1");
  await once(listener, "listening");
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    listener.close();
  });
  const resetAll = () => sockets.forEach(reset);
  return {
    port: (listener.address() as AddressInfo).port,
    reset: resetAll,
    cut() {
      state = "cut";
      resetAll();
    },
    hang: () => void (state = "hanging"),
    deafen: () => void (state = "deaf"),
    heal: () => void (state = "well"),
    loseAnswer: (text) => void (unlucky = text),
    swallow(text, after = "") {
      last = text;
      before = after;
    },
  };
}

/** The same address by way of a proxy. */
export function through(address: string, { port }: Proxy): string {
  const url = new URL(address);
  url.port = String(port);
  return url.href;
}

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
