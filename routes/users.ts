import { type Static, Type } from "@sinclair/typebox";
import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import type {
  ListedUser,
  ModerationState,
  PageSelection,
  UserRecord,
} from "../db/contract/store.js";
import { expectVersion } from "../db/rules/preconditions.js";
import { kindOf } from "../db/rules/user-rows.js";
import { versioned } from "../db/rules/versions.js";
import { authorOf } from "../plugins/auth/guard.js";
import { forbidden, missingTo } from "../plugins/http/errors.js";
import {
  isOutOfReach,
  LIVE,
  may,
  type PermissionKey,
  RUNNING,
} from "../schemas/plain/permissions.js";
import { uuid } from "../schemas/plain/texts.js";
import {
  ModeratedUser,
  NamedUserChanges,
  UserChanges,
  UserList,
  UserName,
  type UserOrdering,
  UserParams,
  UsersQuery,
} from "../schemas/users.js";
import { InvalidData } from "../schemas/validate.js";
import { ref } from "../schemas/values.js";
import { WorldParams } from "../schemas/worlds.js";
import { endpoint, perform } from "./endpoint.js";
import { type ListOrder, readPage } from "./pages.js";

const UUID = new RegExp(uuid.pattern);

const USERS = "/api/v1/worlds/:world_id/users/";
const USER = `${USERS}:user_id/`;
const DELETE_USER = "/api/v1/worlds/:world_id/delete_user";

/** The users of a world. Logins and uploads create them. */
const routes: FastifyPluginAsync = async (app) => {
  app.get(USERS, { config: { requires: ["user.list"] }, ...listUsers });
  app.get(USER, { config: { requires: ["user.list"], versioned: true }, ...getUser });
  app.patch(USERS, { config: { requires: [...LIVE, "user.manage"] }, ...moderateNamedUser });
  app.patch(USER, {
    config: { requires: [...LIVE, "user.manage"], versioned: true },
    ...moderateUser,
  });
  app.post(DELETE_USER, { config: { requires: ["user.delete"] }, ...deleteUser });
};

const listUsers = endpoint(
  {
    operationId: "listUsers",
    summary: "List the users of a world, the first created first",
    description: "Erased users are not in it. With `-` in front, `ordering` puts the latest first.",
    tags: ["users"],
    params: WorldParams,
    querystring: UsersQuery,
    response: { 200: ref(UserList) },
  },
  async (request, reply) => {
    const { store } = request.server;
    const { world_id } = request.params;
    const { ordering = "created", token_id, client_id } = request.query;
    const isNamed = token_id !== undefined || client_id !== undefined;
    const { found, links } = await readPage(
      request,
      request.query,
      orderBy(ordering),
      async (selection) => {
        if (isNamed) return namedUser(request, selection);
        const asked = { ...selection, ordering };
        const { count, users } = await store.users.list(world_id, asked);
        return { count, items: users };
      },
    );
    const { count, items } = found;
    const head = JSON.stringify({ count, ...links }).slice(0, -1);
    return reply.sendJson(`${head},"results":[${items.map(jsonOfUser).join()}]}`);
  },
);

/** The user with exactly the names of a query, as the only one of a list. */
async function namedUser(
  request: FastifyRequest<{
    Params: Static<typeof WorldParams>;
    Querystring: UsersQuery;
  }>,
  { page, after }: PageSelection,
) {
  const { token_id, client_id } = request.query;
  const name = { tokenId: token_id, clientId: client_id };
  const { users } = request.server.store;
  const user = await users.find(request.params.world_id, name);
  const isIt =
    user !== undefined &&
    kindOf(user) === "person" &&
    (client_id === undefined || user.client_id === client_id);
  if (!isIt) return { count: 0, items: [] };
  return { count: 1, items: page > 1 || after ? [] : [user] };
}

const orderBy = (ordering: UserOrdering): ListOrder<UserRecord | ListedUser> => ({
  name: `users ${ordering}`,
  types: ["number", "string"],
  placeOf: (user) => [
    ordering.endsWith("created") && "created" in user ? user.created : user.last_seen,
    user.id,
  ],
});

/** A user as JSON, with the profile as it is stored. */
function jsonOfUser(user: UserRecord | ListedUser): string {
  const { id, token_id, traits, stored } = user;
  const last_seen = new Date(user.last_seen).toISOString();
  const before = JSON.stringify({ id, token_id }).slice(0, -1);
  const after = JSON.stringify({ traits, last_seen }).slice(1);
  return `${before},"profile":${stored.profile ?? "null"},${after}`;
}

/** The command that brings about each decision. */
const commands = { none: "user.reactivate", silenced: "user.silence", banned: "user.ban" } as const;

const wordOf = (state: ModerationState) => (state === "" ? "none" : state);

/** A user with the decision of moderators, as JSON. */
const jsonOfModerated = (user: UserRecord): string =>
  `${jsonOfUser(user).slice(0, -1)},"moderation_state":${JSON.stringify(wordOf(user.moderation_state))}}`;

const recordOf = (user: UserRecord) =>
  versioned(
    () => user,
    () => jsonOfModerated(user),
    0,
  );

const getUser = endpoint(
  {
    operationId: "getUser",
    summary: "Get a user",
    description: "With what moderators decided. An erased user is a 403, as one that never was.",
    tags: ["users"],
    params: UserParams,
    response: { 200: ref(ModeratedUser) },
  },
  async (request, reply) => {
    const { world_id, user_id } = request.params;
    const user = await request.server.store.users.get(world_id, user_id);
    if (!user || user.deleted || kindOf(user) !== "person") {
      throw missingTo(request, "user");
    }
    return reply.sendVersioned(recordOf(user));
  },
);

const moderateNamedUser = endpoint(
  {
    operationId: "moderateNamedUser",
    summary: "Ban, silence or reactivate the person with a uid",
    description:
      "The person need not have come yet: then it makes the user, so that the decision holds from the first visit on. Nobody moderates themselves, or a person with rights that they lack.",
    tags: ["users"],
    params: WorldParams,
    body: ref(NamedUserChanges),
    response: { 200: ref(ModeratedUser) },
  },
  async (request, reply) => {
    const { store } = request.server;
    const { world_id } = request.params;
    const { token_id: tokenId, moderation_state } = request.body;
    if (tokenId === request.caller.tokenId) {
      throw new InvalidData({ token_id: ["Not for yourself."] });
    }
    const known = await store.users.find(world_id, { tokenId });
    if (known) {
      await perform(request, commands[moderation_state], { id: known.id });
    } else {
      // The person may turn out to run the event: only those do this who hold all that this takes.
      const world = request.world!.value;
      if (!may(request.caller, RUNNING, { world })) throw forbidden();
      const state = moderation_state === "none" ? "" : moderation_state;
      const by = authorOf(request);
      await store.users.moderateNamed(world_id, tokenId, state, by);
    }
    const user = await store.users.find(world_id, { tokenId });
    if (!user) throw forbidden();
    return reply.sendJson(jsonOfModerated(user));
  },
);

const moderateUser = endpoint(
  {
    operationId: "moderateUser",
    summary: "Ban, silence or reactivate a user",
    description: "Nobody moderates themselves, or a person with rights that they lack.",
    tags: ["users"],
    params: UserParams,
    body: ref(UserChanges),
    response: { 200: ref(ModeratedUser) },
  },
  async (request, reply) => {
    const { world_id, user_id: id } = request.params;
    const { users } = request.server.store;
    const versions = request.expectedVersions();
    if (versions) {
      const present = await users.get(world_id, id);
      if (!present || present.deleted) throw missingTo(request, "user");
      expectVersion(() => recordOf(present).version, versions);
    }
    const command = commands[request.body.moderation_state];
    await perform(request, command, { id });
    const user = await users.get(world_id, id);
    if (!user) throw missingTo(request, "user");
    return reply.sendVersioned(recordOf(user));
  },
);

const deleteUser = endpoint(
  {
    operationId: "deleteUser",
    summary: "Forget a user",
    description:
      "Erases everything that identifies the user. The user's files stay, without an owner. Nobody erases a person with rights that they lack.",
    tags: ["users"],
    params: WorldParams,
    body: ref(UserName),
    response: { 204: Type.Null({ description: "It is forgotten." }) },
  },
  async (request, reply) => {
    const { store } = request.server;
    const { user_id, token_id: tokenId } = request.body;
    const world = request.world!.value;
    const user =
      user_id === undefined
        ? await store.users.find(world.id, { tokenId })
        : UUID.test(user_id) && (await store.users.get(world.id, user_id));
    const hasKey = (key: PermissionKey) => may(request.caller, [key], { world });
    if (user && isOutOfReach(user.traits, world.permission_config, hasKey)) {
      throw forbidden();
    }
    await store.users.erase(request.params.world_id, request.body, authorOf(request));
    return reply.code(204).send(null);
  },
);

export default routes;
