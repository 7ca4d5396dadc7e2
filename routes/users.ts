import { type Static, Type } from "@sinclair/typebox";
import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import type {
  UserListing,
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

/** A world's users. */
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
    summary: "List the users of a world, oldest first",
    description: "Excludes erased users. With a leading `-`, `ordering` is reversed.",
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
    const ids = items.map(({ id }) => id);
    const passkeys = await store.passkeys.counts(world_id, ids);
    const results = items.map(
      (user) => `${jsonOfUser(user).slice(0, -1)},"passkeys":${passkeys.get(user.id) ?? 0}}`,
    );
    return reply.sendJson(`${head},"results":[${results.join()}]}`);
  },
);

/** Finds the user who has exactly the ids in a query, and returns a list of at most one user. */
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

const orderBy = (ordering: UserOrdering): ListOrder<UserRecord | UserListing> => ({
  name: `users ${ordering}`,
  types: ["number", "string"],
  placeOf: (user) => [
    ordering.endsWith("created") && "created" in user ? user.created : user.last_seen,
    user.id,
  ],
});

/** Renders a user as JSON, with the profile as stored. */
function jsonOfUser(user: UserRecord | UserListing): string {
  const { id, token_id, traits, stored } = user;
  const last_seen = new Date(user.last_seen).toISOString();
  const before = JSON.stringify({ id, token_id }).slice(0, -1);
  const after = JSON.stringify({ traits, last_seen }).slice(1);
  return `${before},"profile":${stored.profile ?? "null"},${after}`;
}

const wordOf = (state: ModerationState) => (state === "" ? "none" : state);

/** Renders a user as JSON, including the moderators' decision. */
function jsonOfModerated(user: UserRecord): string {
  const { moderated_until: until, moderation_state } = user;
  const moderated_until = until === null ? null : new Date(until).toISOString();
  const after = JSON.stringify({ moderation_state: wordOf(moderation_state), moderated_until });
  return `${jsonOfUser(user).slice(0, -1)},${after.slice(1)}`;
}

/** A decision as requested. */
type Decision = Pick<Static<typeof UserChanges>, "moderation_state" | "until" | "network">;

/**
 * Carries out a moderator's decision about a known user.
 * @throws {InvalidData} if a field does not belong to the decision.
 */
async function decide(
  request: Parameters<typeof perform>[0],
  id: string,
  { moderation_state, until, network }: Decision,
): Promise<void> {
  if (network !== undefined && moderation_state !== "banned") {
    throw new InvalidData({ network: ["Only goes with a ban."] });
  }
  if (until != null && moderation_state !== "silenced") {
    throw new InvalidData({ until: ["Only goes with a silence."] });
  }
  if (moderation_state === "silenced") await perform(request, "user.silence", { id, until });
  else if (moderation_state === "none") await perform(request, "user.reactivate", { id });
  else await perform(request, "user.ban", { id, network });
}

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
    description:
      "Includes the moderators' decision. An erased user is a 403, like one that never existed.",
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
      "The person need not have visited yet: in that case, the user is created, so that the decision applies from the first visit on. Callers cannot moderate themselves, or a person with rights that they lack.",
    tags: ["users"],
    params: WorldParams,
    body: ref(NamedUserChanges),
    response: { 200: ref(ModeratedUser) },
  },
  async (request, reply) => {
    const { store } = request.server;
    const { world_id } = request.params;
    const { token_id: tokenId, moderation_state, until, network } = request.body;
    if (tokenId === request.caller.tokenId) {
      throw new InvalidData({ token_id: ["You cannot do this to yourself."] });
    }
    const known = await store.users.find(world_id, { tokenId });
    if (known) {
      await decide(request, known.id, request.body);
    } else {
      // The person may turn out to run the event, so the caller must hold all the keys that running
      // the event requires.
      const world = request.world!.value;
      if (!may(request.caller, RUNNING, { world })) throw forbidden();
      if (network !== undefined) {
        throw new InvalidData({ network: ["The person has not come yet."] });
      }
      const ends = until == null ? undefined : Date.parse(until);
      if (ends !== undefined && !(moderation_state === "silenced" && ends > Date.now())) {
        throw new InvalidData({ until: ["Must be in the future, and only goes with a silence."] });
      }
      const state = {
        state: moderation_state === "none" ? "" : moderation_state,
        until: ends,
      } as const;
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
    description: "Callers cannot moderate themselves, or a person with rights that they lack.",
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
    await decide(request, id, request.body);
    const user = await users.get(world_id, id);
    if (!user) throw missingTo(request, "user");
    return reply.sendVersioned(recordOf(user));
  },
);

const deleteUser = endpoint(
  {
    operationId: "deleteUser",
    summary: "Erase a user",
    description:
      "Erases everything that identifies the user. The user's files stay, without an owner. Callers cannot erase a person with rights that they lack.",
    tags: ["users"],
    params: WorldParams,
    body: ref(UserName),
    response: { 204: Type.Null({ description: "The user is erased." }) },
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
