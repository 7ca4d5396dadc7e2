import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import { forbidden } from "../../plugins/http/errors.js";
import { hasVersion } from "../../plugins/replies.js";
import {
  may,
  SEE,
  type PermissionKey,
} from "../../schemas/plain/permissions.js";

const READ: readonly PermissionKey[] = ["world.view", "program.read"];

interface Feed {
  Params: { world: string };
  Querystring: { token?: unknown };
}

/** The program of a world for calendar programs that subscribe to it. */
const routes: FastifyPluginAsync = async (app) => {
  app.get<Feed>(
    "/w/:world/program.ics",
    { config: { requires: "public" } },
    async (request, reply) => {
      const { server, params, query, base } = request;
      const found = await server.store.worlds.get(params.world);
      if (!found) throw forbidden();
      const world = found.value;
      const { token } = query;
      const traits =
        token === undefined
          ? new Set<string>()
          : await traitsOf(request, world.id, token);
      const place = { world };
      if (!traits || !may({ traits }, READ, place)) throw forbidden();
      const { text, version } = await server.programs.export(
        world,
        {
          edits: may({ traits }, ["program.update"], place),
          sees: (room) => may({ traits }, SEE, { ...place, room }),
        },
        "ics",
        `${base}/w/${world.id}`,
      );
      // Another process may have written it at another time.
      reply.header("etag", `W/"${version}"`);
      reply.header(
        "cache-control",
        token === undefined ? "max-age=300" : "private, max-age=300",
      );
      if (hasVersion(request, `"${version}"`)) return reply.code(304).send();
      reply.header("content-type", "text/calendar; charset=utf-8");
      return reply.send(text);
    },
  );
};

/** The traits of the user whose token it is, as of the user's last login; undefined if it has ended. */
async function traitsOf(
  { server }: FastifyRequest<Feed>,
  world: string,
  token: unknown,
): Promise<ReadonlySet<string> | undefined> {
  if (typeof token !== "string") return undefined;
  const id = await server.store.programLinks.user(world, token);
  if (id === undefined) return undefined;
  const user = await server.store.users.get(world, id);
  if (!user || user.deleted || user.moderation_state === "banned") {
    return undefined;
  }
  return new Set(user.traits);
}

export default routes;
