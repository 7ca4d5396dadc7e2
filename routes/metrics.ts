import { timingSafeEqual, hash } from "node:crypto";
import type { FastifyInstance, FastifyPluginAsync } from "fastify";
import { Registry } from "prom-client";
import { unauthenticated } from "../plugins/errors.js";

/** The metrics for Prometheus: `/metrics`. */
const metrics: FastifyPluginAsync<{
  /** The application that is measured. */
  of: FastifyInstance;
  /** The token that readers need. Without one, everybody may read the metrics. */
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

/** Compares in a time that reveals neither the lengths of the texts nor where they differ. */
const equalInConstantTime = (a: string, b: string) =>
  timingSafeEqual(hash("sha256", a, "buffer"), hash("sha256", b, "buffer"));

export default metrics;
