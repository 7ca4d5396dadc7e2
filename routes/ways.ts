import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import type { InvitationRecord } from "../db/contract/invitation-store.js";
import { signInvitation } from "../db/world-management.js";
import { authorOf } from "../plugins/auth/guard.js";
import { person } from "../plugins/auth/person.js";
import { Refusal } from "../plugins/http/errors.js";
import { responseRef } from "../plugins/openapi/parts.js";
import { RecoveryLink, Ways } from "../schemas/passkeys.js";
import { isHostRole } from "../schemas/plain/invitations.js";
import { linkTo } from "../schemas/plain/links.js";
import { ref } from "../schemas/values.js";
import { WorldParams } from "../schemas/worlds.js";
import { endpoint } from "./endpoint.js";

const WAYS = "/api/v1/worlds/:world_id/ways/";

/** How the caller can return after the current session ends. */
const routes: FastifyPluginAsync = async (app) => {
  app.addHook("onRequest", async (_request, reply) => {
    reply.header("cache-control", "no-store");
  });
  const config = { requires: person, uncached: true } as const;
  app.get(WAYS, { config, ...getWays });
  app.post(`${WAYS}recovery/`, {
    config: { ...config, answers: { 409: responseRef("Conflict") } },
    ...createRecovery,
  });
};

/** Returns the caller's invitation, or undefined if the caller has none. */
async function invitationOf(request: FastifyRequest): Promise<InvitationRecord | undefined> {
  const { caller, server, world } = request;
  if (!caller.invitation) return undefined;
  return server.store.invitations.get(world!.value.id, caller.invitation.id);
}

const getWays = endpoint(
  {
    operationId: "getWays",
    summary: "Get the ways in which you can sign in again",
    description: "Without any, nobody can sign in as this person again after signing out.",
    tags: ["users"],
    params: WorldParams,
    response: { 200: ref(Ways) },
  },
  async (request) => {
    const { store, mail } = request.server;
    const { passkeys } = store;
    const [invitation, all] = await Promise.all([
      invitationOf(request),
      passkeys.of(request.params.world_id, request.callerId!),
    ]);
    return {
      passkeys: all.length,
      email: mail !== undefined && (invitation?.email ?? null) !== null,
      mail: mail !== undefined,
      recovery: (invitation?.recovery ?? 1) > 1,
      invitation: invitation?.id ?? null,
    };
  },
);

const createRecovery = endpoint(
  {
    operationId: "createRecoveryLink",
    summary: "Create a recovery link for yourself",
    description:
      "A link to print or save, for invited people. It is valid as long as the invitation. A new link revokes the previous one; a session that used the previous link continues with the new one.",
    tags: ["users"],
    params: WorldParams,
    response: { 200: ref(RecoveryLink) },
  },
  async (request) => {
    const { invitations } = request.server.store;
    const world = request.world!.value;
    const id = request.caller.invitation?.id;
    if (id === undefined) {
      throw new Refusal(409, "Only people who were invited have a recovery link.");
    }
    const by = authorOf(request);
    const invitation = await invitations.renew(world.id, id, "recovery", undefined, by);
    const token = await signInvitation(world, invitation, "recovery");
    const page = isHostRole(invitation.role, world.permission_config) ? "console" : "event";
    return { url: linkTo(page, { address: request.base, world: world.id, token }) };
  },
);

export default routes;
