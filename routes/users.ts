import { Type } from "@sinclair/typebox";
import type { FastifyPluginAsync } from "fastify";
import type {
  ListedUser,
  ModerationState,
  UserRecord,
} from "../db/contract/store.js";
import { authorOf } from "../plugins/auth/author.js";
import { forbidden } from "../plugins/http/errors.js";
import { LIVE } from "../schemas/plain/permissions.js";
import {
  ModeratedUser,
  UserChanges,
  UserList,
  UserName,
  type UserOrdering,
  UserParams,
  UsersQuery,
} from "../schemas/users.js";
import { ref } from "../schemas/values.js";
import { WorldParams } from "../schemas/worlds.js";
import { endpoint } from "./endpoint.js";
import { type ListOrder, readPage } from "./pages.js";
import { perform } from "./perform.js";

const USERS = "/api/v1/worlds/:world_id/users/";
const USER = `${USERS}:user_id/`;
const DELETE_USER = "/api/v1/worlds/:world_id/delete_user";

/** The users of a world. Logins and uploads create them. */
const routes: FastifyPluginAsync = async (app) => {
  app.get(USERS, { config: { requires: ["user.list"] }, ...listUsers });
  app.patch(USER, {
    config: { requires: [...LIVE, "user.manage"] },
    ...moderateUser,
  });
  app.post(DELETE_USER, {
    config: { requires: ["user.delete"] },
    ...deleteUser,
  });
};

const listUsers = endpoint(
  {
    operationId: "listUsers",
    summary: "List the users of a world, the first created first",
    description:
      "Erased users are not in it. With `-` in front, `ordering` puts the latest first.",
    tags: ["users"],
    params: WorldParams,
    querystring: UsersQuery,
    response: { 200: ref(UserList) },
  },
  async (request, reply) => {
    const { store } = request.server;
    const { world_id } = request.params;
    const { ordering = "created" } = request.query;
    const { found, links } = await readPage(
      request,
      request.query,
      orderBy(ordering),
      async (selection) => {
        const asked = { ...selection, ordering };
        const { count, users } = await store.users.list(world_id, asked);
        return { count, items: users };
      },
    );
    const { count, items } = found;
    const head = JSON.stringify({ count, ...links }).slice(0, -1);
    return reply.sendJson(
      `${head},"results":[${items.map(jsonOfUser).join()}]}`,
    );
  },
);

const orderBy = (ordering: UserOrdering): ListOrder<ListedUser> => ({
  name: `users ${ordering}`,
  types: ["number", "string"],
  placeOf: ({ created, last_seen, id }) => [
    ordering.endsWith("created") ? created : last_seen,
    id,
  ],
});

/** A user as JSON, with the profile as it is stored. */
function jsonOfUser(user: UserRecord | ListedUser): string {
  const { id, token_id, client_id, traits, stored } = user;
  const last_seen = new Date(user.last_seen).toISOString();
  const before = JSON.stringify({ id, token_id, client_id }).slice(0, -1);
  const after = JSON.stringify({ traits, last_seen }).slice(1);
  return `${before},"profile":${stored.profile ?? "null"},${after}`;
}

/** The command that brings about each decision. */
const commands = {
  none: "user.reactivate",
  silenced: "user.silence",
  banned: "user.ban",
} as const;

const wordOf = (state: ModerationState) => (state === "" ? "none" : state);

const moderateUser = endpoint(
  {
    operationId: "moderateUser",
    summary: "Ban, silence or reactivate a user",
    description:
      "Nobody moderates themselves, or a person with rights that they lack.",
    tags: ["users"],
    params: UserParams,
    body: ref(UserChanges),
    response: { 200: ref(ModeratedUser) },
  },
  async (request, reply) => {
    const { world_id, user_id: id } = request.params;
    const command = commands[request.body.moderation_state];
    await perform(request, command, { id });
    const user = await request.server.store.users.get(world_id, id);
    if (!user) throw forbidden();
    const { moderation_state } = user;
    const state = JSON.stringify(wordOf(moderation_state));
    return reply.sendJson(
      `${jsonOfUser(user).slice(0, -1)},"moderation_state":${state}}`,
    );
  },
);

const deleteUser = endpoint(
  {
    operationId: "deleteUser",
    summary: "Forget a user",
    description:
      "Erases everything that identifies the user. The user's files stay, without an owner.",
    tags: ["users"],
    params: WorldParams,
    body: ref(UserName),
    response: { 204: Type.Null({ description: "It is forgotten." }) },
  },
  async (request, reply) => {
    const { store } = request.server;
    await store.users.erase(
      request.params.world_id,
      request.body,
      authorOf(request),
    );
    return reply.code(204).send(null);
  },
);

export default routes;
