import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import fp from "fastify-plugin";
import { Refusal } from "./errors.js";

/** How many requests of one connection may wait behind the one that is under way. */
const MAX_WAITING = 100;

/**
 * Begins a request only when every earlier one of its connection is answered.
 *
 * Clients may send requests without waiting for answers (RFC 9112, section 9.3.2).
 * Node hands all of them over at once, but never closes the response of one that
 * waits: whatever such a request had taken would be lost when the connection
 * ends. A request that has not begun holds nothing. It also sees what the requests
 * before it changed.
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

    app.addHook("onRequest", ({ raw }, { raw: answer }, done) => {
      // Node gives a response its socket when its turn comes.
      if (answer.socket !== null) return done();
      const queue = queueOf(raw.socket);
      if (queue.size >= MAX_WAITING) {
        const headers = { "retry-after": "1" };
        const detail = "Too many requests wait on this connection.";
        return done(new Refusal(429, detail, headers));
      }
      queue.add(answer);
      answer.once("socket", () => {
        queue.delete(answer);
        done();
      });
    });
  },
  { name: "pipelining", dependencies: ["errors", "wire"] },
);
