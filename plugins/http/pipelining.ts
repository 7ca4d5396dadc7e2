import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import fp from "fastify-plugin";
import { Refusal } from "./errors.js";

/** How many requests of one connection may wait behind the one in progress. */
const MAX_WAITING = 100;

/** Responses to requests that were waiting before the server was asked to stop. */
const waiting = new WeakSet<ServerResponse>();

/** Whether a request arrived before the server was asked to stop, and had to wait for its turn. */
export const waitedBeforeStop = (response: ServerResponse): boolean =>
  waiting.has(response);

/**
 * Starts a request only after every earlier one of its connection is answered.
 *
 * Clients may send requests without waiting for answers (RFC 9112, section 9.3.2).
 * Node.js hands over all of them at once, but never emits `close` on the response of
 * a waiting one: if the connection ended, the resources of such a request would
 * leak. A request that has not started holds none. It also sees the changes that
 * earlier requests made.
 */
export default fp(
  async (app) => {
    const queues = new WeakMap<Socket, Set<ServerResponse>>();

    function queueOf(socket: Socket): Set<ServerResponse> {
      let queue = queues.get(socket);
      if (queue) return queue;
      queue = new Set();
      queues.set(socket, queue);
      socket.once("close", () => {
        for (const answer of queue) answer.destroy().emit("close");
      });
      return queue;
    }

    app.addHook(
      "onRequest",
      function awaitTurn({ raw }, { raw: answer }, done) {
        // Node.js assigns the socket to a response when its turn comes.
        if (answer.socket !== null) return done();
        const queue = queueOf(raw.socket);
        if (queue.size >= MAX_WAITING) {
          const headers = { "retry-after": "1" };
          const detail = "Too many requests wait on this connection.";
          return done(new Refusal(429, detail, headers));
        }
        queue.add(answer);
        if (!app.draining) waiting.add(answer);
        answer.once("socket", () => {
          queue.delete(answer);
          done();
        });
      },
    );
  },
  { name: "pipelining", dependencies: ["errors"] },
);
