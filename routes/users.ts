import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import { Type } from "@sinclair/typebox";
import { PageQuery } from "../schemas/pages.js";
import { UserList, UserName } from "../schemas/users.js";
import { ref } from "../schemas/values.js";
import { WorldParams } from "../schemas/worlds.js";
import { pageLinks } from "./pages.js";

/** The users of a world: `/api/v1/worlds/{world_id}/users/` and `…/delete_user`. */
const users: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    "/api/v1/worlds/:world_id/users/",
    {
      config: { requires: ["world.update"] },
      schema: {
        operationId: "listUsers",
        summary: "List the users of a world, the last seen first",
        description: "Erased users are not in it.",
        tags: ["users"],
        params: WorldParams,
        querystring: PageQuery,
        response: { 200: ref(UserList) },
      },
    },
    async (request) => {
      const { page = 1, page_size: pageSize = 50 } = request.query;
      const { count, users } = await app.store.users.list(
        request.params.world_id,
        { page, pageSize },
      );
      return {
        count,
        ...pageLinks(request, { page, pageSize, count }),
        results: users.map(({ last_seen, ...user }) => ({
          ...user,
          last_seen: new Date(last_seen).toISOString(),
        })),
      };
    },
  );

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
