import fastifyCors from "@fastify/cors";
import fp from "fastify-plugin";
import { routesRequire } from "../auth/guard.js";
import { unrouted } from "./protocol.js";

/** Maximum time a browser may cache a preflight response, in seconds. Chromium caps the time at this value. */
const MAX_AGE = 7200;

/**
 * Allows pages on other origins to call the API from a browser. Registered before the hooks that
 * reject requests, so that pages can read the error responses.
 */
export default fp<{ corsOrigins?: string[] | "*" | undefined }>(
  async (app, { corsOrigins }) => {
    if (!corsOrigins) return;
    // The library accepts every OPTIONS request on any path, even if the request is not a
    // preflight.
    app.addHook("onRequest", async function refuseOtherThanPreflight(request) {
      if (request.method !== "OPTIONS") return;
      const refusal = unrouted(request);
      const { origin, "access-control-request-method": method } = request.headers;
      if (!origin || !method || refusal.statusCode === 404) throw refusal;
    });
    // The library adds the route `OPTIONS *` without a requirement.
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
