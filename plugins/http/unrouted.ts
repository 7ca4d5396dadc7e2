import type { FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import { Refusal } from "./errors.js";

/** Why no route matches a request: the path is unknown (404), or has other methods (405). */
export function unrouted({ method, url, server }: FastifyRequest): Refusal {
  const [path = ""] = url.split("?", 1);
  const methods = server.supportedMethods.filter((method) => {
    const route = server.findRoute({
      method,
      url: path,
    });
    // `OPTIONS *` matches every path.
    return route !== null && !("*" in route.params);
  });
  if (methods.length === 0) return new Refusal(404, "Not found.");
  return new Refusal(405, `Method ${method} is not allowed here.`, {
    allow: methods.sort().join(", "),
  });
}

/** Answers 404 or 405 before the body is read. */
export default fp(
  async (app) => {
    app.addHook("onRequest", function refuseUnrouted(request, _reply, done) {
      done(request.is404 ? unrouted(request) : undefined);
    });
  },
  { name: "unrouted", dependencies: ["errors"] },
);
