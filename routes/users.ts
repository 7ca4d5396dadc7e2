import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import { Type } from "@sinclair/typebox";
import { UserName } from "../schemas/users.js";
import { ref } from "../schemas/values.js";
import { WorldParams } from "../schemas/worlds.js";

/** The people of a world: they come by uploading, and are forgotten here. */
const users: FastifyPluginAsyncTypebox = async (app) => {
  app.post(
    "/api/v1/worlds/:world_id/delete_user",
    {
      config: { requires: ["world.update"] },
      schema: {
        operationId: "deleteUser",
        summary: "Forget a user",
        description:
          "Erases what tells who the user is. Its files stay, and are nobody's.",
        tags: ["users"],
        params: WorldParams,
        body: ref(UserName),
        response: { 204: Type.Null({ description: "It is forgotten." }) },
      },
    },
    async (request, reply) => {
      await app.store.users.erase(request.params.world_id, request.body);
      return reply.code(204).send(null);
    },
  );
};

export default users;
