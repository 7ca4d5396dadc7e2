import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import { Type } from "@sinclair/typebox";
import { OneOf } from "../schemas/values.js";

const Health = Type.Object(
  { status: OneOf("ok", "stopping") },
  { description: "Whether requests should be sent here." },
);

/** Whether requests should be sent here. */
const health: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    "/healthz",
    {
      config: { requires: "public" },
      schema: {
        operationId: "getHealth",
        summary: "Whether requests should be sent here",
        tags: ["server"],
        response: { 200: Health, 503: Health },
      },
    },
    async (_, reply) => {
      if (!app.draining) return { status: "ok" as const };
      return reply.code(503).send({ status: "stopping" });
    },
  );
};

export default health;
