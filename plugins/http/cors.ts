import fastifyCors from "@fastify/cors";
import fp from "fastify-plugin";
import { routesRequire } from "../auth/guard.js";
import { unrouted } from "./protocol.js";

/** How long a browser may cache the answer to a preflight, in seconds. No browser caches it longer. */
const MAX_AGE = 7200;

/**
 * Lets pages of other origins call from a browser. It comes before the hooks
 * that refuse requests, so that such a page can read the refusal.
 */
export default fp<{ corsOrigins?: string[] | "*" | undefined }>(
  async (app, { corsOrigins }) => {
    if (!corsOrigins) return;
    // The library accepts OPTIONS on any path, even if it is no preflight.
    app.addHook("onRequest", async function refuseOtherThanPreflight(request) {
      if (request.method !== "OPTIONS") return;
      const refusal = unrouted(request);
      const { origin, "access-control-request-method": method } = request.headers;
      if (!origin || !method || refusal.statusCode === 404) throw refusal;
    });
    // The library adds the route `OPTIONS *`.
    await routesRequire(app, "public", () =>
      app.register(fastifyCors, {
        origin: corsOrigins,
        methods: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
        allowedHeaders: [
          "Accept",
          "Authorization",
          "Content-Type",
          "If-Match",
          "If-None-Match",
          "Last-Event-ID",
          "Range",
        ],
        exposedHeaders: ["ETag", "Location", "X-Request-Id", "Retry-After"],
        maxAge: MAX_AGE,
      }),
    );
  },
  { name: "cors", dependencies: ["errors"] },
);
