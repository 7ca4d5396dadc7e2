import fastifyCors from "@fastify/cors";
import fp from "fastify-plugin";
import { unrouted } from "./unrouted.js";

/** How long a browser may remember what it was told, in seconds: no browser does for longer. */
const MAX_AGE = 7200;

/**
 * Lets pages of other origins call from a browser. It comes before whatever
 * refuses a request, so that the refusal can be read there.
 */
export default fp<{ origins: string[] | "*" }>(
  async (app, { origins }) => {
    // The library takes OPTIONS on any path, and without being a preflight.
    app.addHook("onRequest", async (request) => {
      if (request.method !== "OPTIONS") return;
      const refusal = unrouted(request);
      const { origin, "access-control-request-method": method } =
        request.headers;
      if (!origin || !method || refusal.statusCode === 404) throw refusal;
    });
    await app.register(fastifyCors, {
      origin: origins,
      methods: ["GET", "HEAD", "POST", "PATCH", "DELETE"],
      allowedHeaders: [
        "Accept",
        "Authorization",
        "Content-Type",
        "If-Match",
        "If-None-Match",
        "Range",
      ],
      exposedHeaders: ["ETag", "Location", "X-Request-Id", "Retry-After"],
      maxAge: MAX_AGE,
    });
  },
  { name: "cors", dependencies: ["errors"] },
);
