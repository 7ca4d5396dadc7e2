import type { FastifyPluginAsync } from "fastify";
import { authorOf } from "../plugins/auth/author.js";
import { issuerFaults } from "../plugins/auth/issuer-faults.js";
import { allowSameId } from "../plugins/validation.js";
import { InvalidData } from "../schemas/validate.js";
import { ref } from "../schemas/values.js";
import { World, WorldChanges, WorldParams } from "../schemas/worlds.js";
import { endpoint } from "./endpoint.js";

const WORLD = "/api/v1/worlds/:world_id/";

/** One event space. */
const routes: FastifyPluginAsync = async (app) => {
  app.get(WORLD, {
    config: { requires: ["world.secrets"], versioned: true },
    ...getWorld,
  });
  app.patch(WORLD, {
    config: { requires: ["world.secrets", "world.update"], versioned: true },
    ...allowSameId("world_id"),
    ...updateWorld,
  });
};

const getWorld = endpoint(
  {
    operationId: "getWorld",
    summary: "Get a world, with its keys",
    tags: ["worlds"],
    params: WorldParams,
    response: { 200: ref(World) },
  },
  (request, reply) => void reply.sendVersioned(request.world!),
);

const updateWorld = endpoint(
  {
    operationId: "updateWorld",
    summary: "Replace fields of a world",
    description:
      "A config without JWT_secrets keeps the present keys; with it, they are replaced at once. JWT_issuers and oidc do the same.",
    tags: ["worlds"],
    params: WorldParams,
    body: ref(WorldChanges),
    response: { 200: ref(World) },
  },
  async (request, reply) => {
    const { store, outbound } = request.server;
    const { world_id } = request.params;
    const versions = request.expectedVersions();
    const { config = {} } = request.body;
    const faults = await issuerFaults(config, outbound);
    if (Object.keys(faults).length > 0) throw new InvalidData(faults);
    return reply.sendVersioned(
      await store.worlds.update(
        world_id,
        request.body,
        versions,
        authorOf(request),
      ),
    );
  },
);

export default routes;
