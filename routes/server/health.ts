import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import { Type } from "@sinclair/typebox";
import { OneOf } from "../../schemas/values.js";

const Health = Type.Object(
  { status: OneOf("ok", "stopping") },
  { description: "Whether the server accepts requests." },
);

const Ready = Type.Object({ status: OneOf("ready") }, { description: "The database responds." });

/** Health checks: whether requests should be sent to this server, and whether it can handle them. */
const health: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    "/healthz",
    {
      config: { requires: "public" },
      schema: {
        operationId: "getHealth",
        summary: "Whether the server accepts requests",
        description:
          "Does not query the database. While the server is stopping, it is a 503, and `status` is `stopping`.",
        tags: ["server"],
        response: { 200: Health, 503: Health },
      },
    },
    async (_, reply) => {
      // Bypasses the serializer, because the first response after startup would have to wait for
      // the serializer's compilation.
      if (!app.draining) return reply.sendJson('{"status":"ok"}');
      reply.code(503);
      return reply.sendJson('{"status":"stopping"}');
    },
  );

  app.get(
    "/readyz",
    {
      config: { requires: "public" },
      schema: {
        operationId: "getReadiness",
        summary: "Whether the database responds, for load balancers",
        description: "A 503 while the database does not respond.",
        tags: ["server"],
        response: { 200: Ready },
      },
    },
    async () => {
      // Without the database, this read fails with a 503, like every request that needs the
      // database.
      await app.store.worlds.list({ limit: 1 });
      return { status: "ready" as const };
    },
  );
};

export default health;
