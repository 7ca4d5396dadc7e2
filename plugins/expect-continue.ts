import type { IncomingMessage, ServerResponse } from "node:http";
import fp from "fastify-plugin";

/**
 * Tells a client that asks first (`Expect: 100-continue`) to send its body
 * only when somebody wants it: a refusal then costs it no upload.
 */
export default fp(
  async (app) => {
    const asking = new WeakSet<ServerResponse>();
    app.server.on(
      "checkContinue",
      (request: IncomingMessage, response: ServerResponse) => {
        asking.add(response);
        app.server.emit("request", request, response);
      },
    );
    // Runs after whatever refuses, and before the body is read.
    app.addHook("onRoute", (route) => {
      // Nobody reads the body of these, if there is one.
      if (route.method === "GET" || route.method === "HEAD") return;
      route.preParsing = [
        ...[route.preParsing ?? []].flat(),
        (_request, reply, payload, done) => {
          if (asking.has(reply.raw)) reply.raw.writeContinue();
          done(null, payload);
        },
      ];
    });
  },
  { name: "expect-continue" },
);
