import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import { isGone, type UserRecord } from "../../db/contract/store.js";
import { clientGone } from "../../plugins/http/connections.js";
import { forbidden } from "../../plugins/http/errors.js";
import { hasVersion } from "../../plugins/replies.js";
import { closedFor } from "../../schemas/plain/access.js";
import { isWithheld, may, SEE, type PermissionKey } from "../../schemas/plain/permissions.js";

const READ: readonly PermissionKey[] = ["world.view", "program.read"];

type Reader = Pick<UserRecord, "traits" | "moderation_state">;

const GUEST: Reader = { traits: [], moderation_state: "" };

interface Feed {
  Params: { world: string };
  Querystring: { token?: unknown };
}

/** Serves a world's program to calendar apps that subscribe to the program. */
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
      const user = token === undefined ? GUEST : await userOf(request, world.id, token);
      const traits = new Set(user?.traits);
      const place = { world };
      if (!user || !may({ traits }, READ, place)) throw forbidden();
      // Of an event that is not open yet, or over, the page before login shows the program, too.
      const visitor = { traits, isInvited: user !== GUEST, isSpeaker: false };
      if (closedFor(world, visitor, Date.now()) === "unpublished") throw forbidden();
      const { bytes, version } = await server.programs.export(
        world,
        {
          edits:
            !isWithheld(user.moderation_state, "program.update") &&
            may({ traits }, ["program.update"], place),
          sees: (room) => may({ traits }, SEE, { ...place, room }),
        },
        "ics",
        `${base}/w/${world.id}`,
      );
      // The tag is weak, because calendars of the same version differ in their creation time.
      reply.header("etag", `W/"${version}"`);
      reply.header("cache-control", token === undefined ? "max-age=300" : "private, max-age=300");
      if (hasVersion(request, `"${version}"`)) return reply.code(304).send();
      reply.header("content-type", "text/calendar; charset=utf-8");
      return reply.send(await bytes(clientGone(reply.raw)));
    },
  );
};

/**
 * Returns a token's user, with the traits from the user's last login. Returns undefined if the
 * token is not valid or the user is banned or deleted.
 */
async function userOf(
  { server }: FastifyRequest<Feed>,
  world: string,
  token: unknown,
): Promise<Reader | undefined> {
  if (typeof token !== "string") return undefined;
  const id = await server.store.programLinks.user(world, token);
  if (id === undefined) return undefined;
  const user = await server.store.users.get(world, id);
  if (!user || isGone(user)) {
    return undefined;
  }
  return user;
}

export default routes;
