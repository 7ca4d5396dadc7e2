import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import fp from "fastify-plugin";
import { Refusal } from "./errors.js";
import { lastAnswer } from "./wire.js";

declare module "fastify" {
  interface FastifyInstance {
    /** Whether the server was told to stop. */
    readonly draining: boolean;
    /**
     * Takes no more work, and waits for what is in flight.
     * @param deadline after how many milliseconds it no longer waits.
     */
    drain(deadline: number): Promise<void>;
  }
}

/**
 * Ends the service without breaking off a request.
 * @param options.patience how long `close` waits for answers where nobody
 *   drained before, in milliseconds.
 */
export default fp<{ patience: number }>(
  async (app, { patience }) => {
    let draining = false;
    app.decorate("draining", { getter: () => draining });

    let closing = false;

    // In-flight requests are counted when a stop asks for them: to count them
    // all the time would cost each of them more.
    const connections = new Set<Socket>();
    app.server.on("connection", (socket: Socket) => {
      if (closing) {
        socket.destroy();
        return;
      }
      connections.add(socket);
      socket.once("close", () => connections.delete(socket));
    });

    app.addHook("onRequest", (request, reply, done) => {
      if (!draining) return done();
      reply.header("connection", "close");
      if (request.routeOptions.url === "/healthz") return done();
      const headers = { "retry-after": "5" };
      done(new Refusal(503, "The server is stopping.", headers));
    });

    app.decorate("drain", async (deadline: number) => {
      draining = true;
      // Answers leave in order: after the last of a connection, none is owed.
      const owed = [...connections].map(async (socket) => {
        const answer = lastAnswer(socket);
        if (answer?.writableFinished !== false) return;
        // An answer that waits behind another has no socket yet, and hears
        // nothing of its end.
        await Promise.race([once(answer, "close"), once(socket, "close")]);
      });
      // A timer that is left behind must not keep the process from ending.
      const over = setTimeout(deadline, undefined, { ref: false });
      await Promise.race([Promise.allSettled(owed), over]);
    });

    // The server closes when its last connection has: one that sends nothing, or
    // half a request, could hold it for minutes.
    app.addHook("preClose", async () => {
      if (!draining) await app.drain(patience);
      closing = true;
      for (const socket of connections) socket.destroy();
    });
  },
  { name: "draining", dependencies: ["errors", "wire"] },
);
