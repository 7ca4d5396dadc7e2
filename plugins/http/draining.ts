import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import fp from "fastify-plugin";
import { Refusal } from "./errors.js";
import { waitedBeforeStop } from "./pipelining.js";

declare module "fastify" {
  interface FastifyInstance {
    /** Whether the server was told to stop. */
    readonly draining: boolean;
    /**
     * Refuses new requests, and waits for those in flight.
     * @param deadline after how many milliseconds it stops waiting.
     */
    drain(deadline: number): Promise<void>;
  }
}

/**
 * Answers 503 while the server stops, and ends every connection when it closes.
 * @param options.patience how long `close` waits for requests in flight if nobody
 *   called `drain` before, in milliseconds.
 */
export default fp<{ patience: number }>(
  async (app, { patience }) => {
    let draining = false;
    let closing = false;
    app.decorate("draining", { getter: () => draining });

    const whenIdle = countRequests(app.server);

    // An upgraded socket is one of them: it owes no answer, so nothing waits
    // for it, and it ends with all others.
    const connections = new Set<Socket>();
    app.server.on("connection", (socket: Socket) => {
      if (closing) {
        socket.destroy();
        return;
      }
      connections.add(socket);
      socket.once("close", () => connections.delete(socket));
    });

    app.addHook(
      "onRequest",
      function refuseWhileStopping(request, reply, done) {
        if (!draining || waitedBeforeStop(reply.raw)) return done();
        reply.header("connection", "close");
        if (request.routeOptions.url === "/healthz") return done();
        const headers = { "retry-after": "5" };
        done(new Refusal(503, "The server is stopping.", headers));
      },
    );

    app.decorate("drain", async (deadline: number) => {
      draining = true;
      // This timer must not keep the process from ending.
      const timeout = setTimeout(deadline, undefined, { ref: false });
      await Promise.race([whenIdle(), timeout]);
    });

    // The server closes after its last connection. A client that sends nothing,
    // or half a request, could keep one open for minutes.
    app.addHook("preClose", async () => {
      if (!draining) await app.drain(patience);
      closing = true;
      for (const socket of connections) socket.destroy();
    });
  },
  { name: "draining", dependencies: ["errors"] },
);

/** On a socket: how many of its requests have no complete answer yet; undefined once it is closed. */
const kInFlight = Symbol("requests in flight");

type Connection = Socket & { [kInFlight]?: number | undefined };

/**
 * Counts the requests in flight.
 * @returns resolves when there are none.
 */
function countRequests(server: Server): () => Promise<void> {
  let inFlight = 0;
  let onIdle = () => {};

  function subtract(count: number): void {
    inFlight -= count;
    if (inFlight === 0) onIdle();
  }

  function onAnswered(this: ServerResponse): void {
    const connection = this.req.socket as Connection;
    if (connection[kInFlight] === undefined) return;
    connection[kInFlight]--;
    subtract(1);
  }

  // An answer that waits behind another one has no socket of its own, and never
  // hears that its connection ended.
  function onDisconnected(this: Connection): void {
    subtract(this[kInFlight] ?? 0);
    this[kInFlight] = undefined;
  }

  server.on(
    "request",
    ({ socket }: IncomingMessage, answer: ServerResponse) => {
      const connection = socket as Connection;
      if (connection[kInFlight] === undefined) {
        if (connection.destroyed) return;
        connection[kInFlight] = 0;
        connection.once("close", onDisconnected);
      }
      connection[kInFlight]++;
      inFlight++;
      answer.once("close", onAnswered);
    },
  );

  return () =>
    new Promise((resolve) => {
      onIdle = resolve;
      subtract(0);
    });
}
