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

/** Ends the service without breaking off a request. */
export default fp(
  async (app) => {
    let draining = false;
    app.decorate("draining", { getter: () => draining });

    // Requests are looked for when somebody wants to know: to count them would
    // cost each of them more.
    const connections = new Set<Socket>();
    app.server.on("connection", (socket: Socket) => {
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
        if (answer?.writableFinished === false) await once(answer, "close");
      });
      // A timer that is left behind must not keep the process from ending.
      const over = setTimeout(deadline, undefined, { ref: false });
      await Promise.race([Promise.allSettled(owed), over]);
    });
  },
  { name: "draining", dependencies: ["errors", "wire"] },
);
