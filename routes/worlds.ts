import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import { keepingId } from "../plugins/validation.js";
import { World, WorldChanges, WorldParams } from "../schemas/worlds.js";

/** One event space: `/api/v1/worlds/{world_id}/`. */
const worlds: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    "/api/v1/worlds/:world_id/",
    {
      config: { requires: ["world.secrets"] },
      schema: { params: WorldParams, response: { 200: World } },
    },
    async (request, reply) => reply.sendVersioned(request.world!),
  );

  app.patch(
    "/api/v1/worlds/:world_id/",
    {
      ...keepingId("world_id"),
      config: { requires: ["world.secrets", "world.update"] },
      schema: {
        params: WorldParams,
        body: WorldChanges,
        response: { 200: World },
      },
    },
    async (request, reply) =>
      reply.sendVersioned(
        await app.store.worlds.update(
          request.params.world_id,
          request.body,
          request.expectedVersions(),
        ),
      ),
  );
};

export default worlds;
