import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import { allowSameId } from "../plugins/validation.js";
import { ref } from "../schemas/values.js";
import { World, WorldChanges, WorldParams } from "../schemas/worlds.js";

/** One event space: `/api/v1/worlds/{world_id}/`. */
const worlds: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    "/api/v1/worlds/:world_id/",
    {
      config: { requires: ["world.secrets"], versioned: true },
      schema: {
        operationId: "getWorld",
        summary: "Get a world, with its keys",
        tags: ["worlds"],
        params: WorldParams,
        response: { 200: ref(World) },
      },
    },
    (request, reply) => void reply.sendVersioned(request.world!),
  );

  app.patch(
    "/api/v1/worlds/:world_id/",
    {
      ...allowSameId("world_id"),
      config: {
        requires: ["world.secrets", "world.update"],
        versioned: true,
      },
      schema: {
        operationId: "updateWorld",
        summary: "Replace fields of a world",
        description:
          "A config without JWT_secrets keeps the present keys; with it, they are replaced at once.",
        tags: ["worlds"],
        params: WorldParams,
        body: ref(WorldChanges),
        response: { 200: ref(World) },
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
