import { hash, timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyPluginAsync } from "fastify";
import { Registry } from "prom-client";
import type { RouteRequirement } from "../../plugins/auth/guard.js";
import { unauthenticated } from "../../plugins/http/errors.js";

/** Serves the metrics for Prometheus at `/metrics`. */
const metrics: FastifyPluginAsync<{
  /** The application to measure. */
  of: FastifyInstance;
  /** The bearer token that grants access. If undefined, every client that can reach the port may read the metrics. */
  token: string | undefined;
}> = async (app, { of, token }) => {
  const requires: RouteRequirement = token === undefined ? "public" : holderOf(token);
  app.get("/metrics", { config: { requires } }, async (_, reply) => {
    // Metrics are stale immediately.
    reply.header("cache-control", "no-store");
    reply.type(Registry.PROMETHEUS_CONTENT_TYPE);
    return of.metrics!.text();
  });
};

/** Admits requests that bear the token. */
const holderOf =
  (token: string): RouteRequirement =>
  ({ headers: { authorization = "" } }) => {
    if (!same(authorization, `Bearer ${token}`)) {
      throw unauthenticated("The metrics require METRICS_TOKEN as a bearer token.");
    }
  };

/** Compares in constant time: neither the position of a difference nor the lengths affect the duration. */
const same = (a: string, b: string) =>
  timingSafeEqual(hash("sha256", a, "buffer"), hash("sha256", b, "buffer"));

export default metrics;
