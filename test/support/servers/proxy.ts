import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Test } from "tap";

/** A port that forwards to another one, unless a test breaks it. */
export interface Proxy {
  readonly port: number;
  /** Resets all connections. New ones still work. */
  reset(): void;
  /** Resets all connections, including new ones. */
  cut(): void;
  /** Drops everything that either side sends. Connections stay open, and new ones are accepted. */
  hang(): void;
  /** Drops everything that the server sends, but still forwards to it. */
  deafen(): void;
  /** Forwards again. Connections that have lost data stay dead. */
  heal(): void;
  /** Resets the next connection whose client sends data that ends with this text, once the answer arrives. */
  loseAnswer(text: string): void;
  /**
   * Stops forwarding on the next connection whose client sends this text, like a firewall that has
   * dropped its state. The connection stays open, and others are unaffected.
   * @param after a text that the client must have sent before, which identifies the connection.
   */
  swallow(text: string, after?: string): void;
}

const DIRECTIONS = ["toServer", "toClient"] as const;

/** Whether data is forwarded, by direction. */
type Flow = Record<(typeof DIRECTIONS)[number], boolean>;

const FLOWS = {
  well: { toServer: true, toClient: true },
  cut: { toServer: true, toClient: true },
  hanging: { toServer: false, toClient: false },
  deaf: { toServer: true, toClient: false },
} satisfies Record<string, Flow>;

/** Starts a proxy for a local port. */
export async function startProxy(t: Test, to: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let state: keyof typeof FLOWS = "well";
  /** The end of the request whose answer will be lost; empty for none. */
  let lostAnswerSuffix = "";
  /** Data with this text makes a connection go silent; empty for none. */
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
    /** Whether the client has already sent `before`. */
    let hasSentBefore = false;
    for (const direction of DIRECTIONS) {
      const into = ends[direction];
      const from = into === server ? client : server;
      sockets.add(from);
      from.on("error", () => {});
      from.on("data", (data) => {
        if (into === client && isUnlucky) return reset(client);
        if (into === server && lostAnswerSuffix !== "") {
          isUnlucky = data.toString("latin1").endsWith(lostAnswerSuffix);
          if (isUnlucky) lostAnswerSuffix = "";
        }
        if (into === server && last !== "") {
          hasSentBefore ||= data.includes(before);
          if (hasSentBefore && data.includes(last)) {
            last = "";
            flow.toServer = flow.toClient = false;
          }
        }
        // A connection that has lost data must stay dead.
        for (const one of DIRECTIONS) flow[one] &&= FLOWS[state][one];
        if (flow[direction]) into.write(data);
      });
      from.once("close", () => {
        sockets.delete(from);
        // As in a network partition, the other side does not notice.
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
    loseAnswer: (text) => void (lostAnswerSuffix = text),
    swallow(text, after = "") {
      last = text;
      before = after;
    },
  };
}

/** Returns the same address, routed through a proxy. */
export function through(address: string, { port }: Proxy): string {
  const url = new URL(address);
  url.port = String(port);
  return url.href;
}

/**
 * Starts a load balancer without sticky sessions: each connection goes to the next port that
 * accepts it.
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
