import type { IncomingMessage, ServerResponse } from "node:http";
import type { preParsingHookHandler } from "fastify";
import fp from "fastify-plugin";

/**
 * Answers `Expect: 100-continue` when the server is about to read the body. A
 * refused client then never sends it.
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

    const askForBody: preParsingHookHandler = (
      _request,
      reply,
      payload,
      done,
    ) => {
      if (asking.has(reply.raw)) reply.raw.writeContinue();
      done(null, payload);
    };
    // After every hook that may refuse, and before the body is read.
    app.addHook("onRoute", (route) => {
      // The server does not read the body of a GET or HEAD.
      if (route.method === "GET" || route.method === "HEAD") return;
      route.preParsing = [...[route.preParsing ?? []].flat(), askForBody];
    });
  },
  { name: "expect-continue" },
);
