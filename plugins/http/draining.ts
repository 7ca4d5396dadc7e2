import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import fp from "fastify-plugin";
import { Refusal } from "./errors.js";
import { waitedBeforeStop } from "./pipelining.js";
import { lastAnswer } from "./protocol.js";

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

    // Requests in flight are counted only when a stop asks for them: a counter
    // would cost each read 2 to 3 %. Upgraded sockets are among the connections:
    // they owe no answer, so nothing waits for them, and they end with the others.
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
      const inFlight = [...connections].filter(owesAnswer).map(settled);
      await Promise.race([Promise.allSettled(inFlight), timeout]);
    });

    // The server closes after its last connection. A client that sends nothing,
    // or half a request, could keep one open for minutes.
    app.addHook("preClose", async () => {
      if (!draining) await app.drain(patience);
      closing = true;
      for (const socket of connections) socket.destroy();
    });
  },
  { name: "draining", dependencies: ["errors", "protocol"] },
);

/** Whether a connection waits for an answer. */
const owesAnswer = (socket: Socket): boolean =>
  lastAnswer(socket)?.writableFinished === false;

/** Resolves when a connection has no unfinished answer, or is closed. */
async function settled(socket: Socket): Promise<void> {
  // The answers of a connection leave in order: after the last one, none is owed.
  const answer = lastAnswer(socket)!;
  // An answer that waits behind another one has no socket yet, and is not told
  // that the connection closed.
  await Promise.race([once(answer, "close"), once(socket, "close")]);
}
