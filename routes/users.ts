import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import { UserName } from "../schemas/users.js";
import { WorldParams } from "../schemas/worlds.js";

/** The people of a world: they come by uploading, and are forgotten here. */
const users: FastifyPluginAsyncTypebox = async (app) => {
  app.post(
    "/api/v1/worlds/:world_id/delete_user/",
    {
      config: { requires: ["world.update"] },
      schema: { params: WorldParams, body: UserName },
    },
    async (request, reply) => {
      await app.store.users.erase(request.params.world_id, request.body);
      return reply.code(204).send();
    },
  );
};

export default users;
