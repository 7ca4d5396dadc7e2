import { hash, timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyPluginAsync } from "fastify";
import { Registry } from "prom-client";
import type { Requirement } from "../../plugins/auth/guard.js";
import { unauthenticated } from "../../plugins/http/errors.js";

/** The metrics for Prometheus: `/metrics`. */
const metrics: FastifyPluginAsync<{
  /** The application that is measured. */
  of: FastifyInstance;
  /** Without it, every client that reaches the port may read them. */
  token: string | undefined;
}> = async (app, { of, token }) => {
  const requires: Requirement = token === undefined ? "public" : holderOf(token);
  app.get("/metrics", { config: { requires } }, async (_, reply) => {
    // They are old at once.
    reply.header("cache-control", "no-store");
    reply.type(Registry.PROMETHEUS_CONTENT_TYPE);
    return of.metrics!.text();
  });
};

/** Admits requests with this token. */
const holderOf =
  (token: string): Requirement =>
  ({ headers: { authorization = "" } }) => {
    if (!same(authorization, `Bearer ${token}`)) {
      throw unauthenticated("The metrics ask for the token of METRICS_TOKEN.");
    }
  };

/** Compares in a time that depends neither on where two texts differ nor on their lengths. */
const same = (a: string, b: string) =>
  timingSafeEqual(hash("sha256", a, "buffer"), hash("sha256", b, "buffer"));

export default metrics;
