import { timingSafeEqual, hash } from "node:crypto";
import type { FastifyInstance, FastifyPluginAsync } from "fastify";
import { Registry } from "prom-client";
import { unauthenticated } from "../plugins/errors.js";

/** What Prometheus asks for: `/metrics`. */
const metrics: FastifyPluginAsync<{
  /** Whose metrics they are. */
  of: FastifyInstance;
  /** Without it, everybody who gets here may read them. */
  token: string | undefined;
}> = async (app, { of, token }) => {
  app.get("/metrics", async ({ headers: { authorization = "" } }, reply) => {
    if (
      token !== undefined &&
      !equalInConstantTime(authorization, `Bearer ${token}`)
    ) {
      throw unauthenticated("The metrics ask for the token of METRICS_TOKEN.");
    }
    reply.header("cache-control", "no-store");
    reply.type(Registry.PROMETHEUS_CONTENT_TYPE);
    return of.metrics!.text();
  });
};

/** Compares in a time that tells nothing of where two texts differ, or of how long they are. */
const equalInConstantTime = (a: string, b: string) =>
  timingSafeEqual(hash("sha256", a, "buffer"), hash("sha256", b, "buffer"));

export default metrics;
