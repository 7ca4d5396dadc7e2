import type { FastifyPluginAsync } from "fastify";

/** Whether requests should be sent here. */
const health: FastifyPluginAsync = async (app) => {
  app.get("/healthz", async (_, reply) => {
    if (!app.draining) return { status: "ok" };
    return reply.code(503).send({ status: "stopping" });
  });
};

export default health;
