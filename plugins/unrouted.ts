import type { FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import { Refusal } from "./errors.js";

/** Why a request has no route: its path is unknown, or its method is wrong there. */
export function unrouted({ method, url, server }: FastifyRequest): Refusal {
  const [path = ""] = url.split("?", 1);
  const methods = server.supportedMethods.filter((method) => {
    const route = server.findRoute({
      method: method,
      url: path,
    });
    // A route for every path knows none.
    return route !== null && !("*" in route.params);
  });
  if (methods.length === 0) return new Refusal(404, "Not found.");
  return new Refusal(405, `Method ${method} is not allowed here.`, {
    allow: methods.sort().join(", "),
  });
}

/** Answers what has no route before its body is read: whatever it is, nobody waits for it. */
export default fp(
  async (app) => {
    app.addHook("onRequest", (request, _reply, done) => {
      done(request.is404 ? unrouted(request) : undefined);
    });
  },
  { name: "unrouted", dependencies: ["errors"] },
);
