import { Type } from "@sinclair/typebox";
import type { FastifyPluginAsync, FastifyRequest, preHandlerHookHandler } from "fastify";
import type { InvitationRecord, InvitationUpdate } from "../db/contract/invitation-store.js";
import { StoreError, type Versioned } from "../db/contract/store.js";
import { endOf, shownInvitation } from "../db/rules/invitation-rows.js";
import { versioned } from "../db/rules/versions.js";
import { invitationLink, shownInvitations } from "../db/world-management.js";
import { authorOf } from "../plugins/auth/guard.js";
import { beyondQuota, Conflict, forbidden, missingTo, Refusal } from "../plugins/http/errors.js";
import { responseRef } from "../plugins/openapi/parts.js";
import { allowSameId } from "../plugins/validation.js";
import {
  CreatedInvitations,
  Invitation,
  InvitationChanges,
  InvitationDraft,
  InvitationDrafts,
  InvitationLink,
  InvitationList,
  InvitationParams,
  InvitationsQuery,
} from "../schemas/invitations.js";
import { MAX_INVITED_AT_ONCE } from "../schemas/plain/invitations.js";
import { may } from "../schemas/plain/permissions.js";
import { timeIn } from "../schemas/plain/times.js";
import { compileValidator, InvalidData } from "../schemas/validate.js";
import { List, ref } from "../schemas/values.js";
import { WorldParams } from "../schemas/worlds.js";
import { endpoint } from "./endpoint.js";
import { type ListOrder, readPage } from "./pages.js";
import { reachOf } from "./role-reach.js";

const INVITATIONS = "/api/v1/worlds/:world_id/invitations/";
const INVITATION = `${INVITATIONS}:invitation_id/`;

/** The people who were invited to a world, with their roles and links. */
const routes: FastifyPluginAsync = async (app) => {
  const requires = ["user.invite"] as const;
  const answers = { 409: responseRef("Conflict") };
  const versioned = { requires, answers, versioned: true } as const;
  app.get(INVITATIONS, { config: { requires }, ...listInvitations });
  app.post(INVITATIONS, {
    config: { requires, answers },
    attachValidation: true,
    preHandler: explainFaults,
    ...createInvitations,
  });
  app.get(INVITATION, { config: { requires, versioned: true }, ...getInvitation });
  app.patch(INVITATION, {
    config: versioned,
    ...allowSameId("invitation_id"),
    ...updateInvitation,
  });
  app.delete(INVITATION, { config: versioned, ...deleteInvitation });
  app.post(`${INVITATION}link/`, { config: { requires, answers }, ...renewLink });
};

/** The schema of a list of drafts. */
const Drafts = List(InvitationDraft, MAX_INVITED_AT_ONCE, { minItems: 1 });

/** Names the field that is wrong. A union, as in the route's schema, only has one message for all. */
const explainFaults: preHandlerHookHandler = (request, _reply, done) => {
  const { body } = request;
  done(compileValidator(Array.isArray(body) ? Drafts : InvitationDraft)(body));
};

/**
 * Returns an invitation with its version: its revision, which `If-Match` compares, and a digest of
 * all that is shown. A visit changes the digest, which must not block a change.
 */
async function recordOf(request: OfInvitation): Promise<Versioned<Invitation>> {
  const invitation = await invitationOf(request);
  const world = request.world!.value;
  const [value] = (await shownInvitations(request.server.store, [invitation], world)) as [
    Invitation,
  ];
  const json = JSON.stringify(value);
  const digest = versioned(
    () => value,
    () => json,
    invitation.revision,
  ).version;
  return { value, json, version: `${invitation.revision}.${digest}` };
}

/** @throws {Refusal} 403 if one of the roles holds rights that the caller lacks. */
async function expectReach(request: FastifyRequest, ...roles: readonly string[]): Promise<void> {
  const isOutOfReach = await reachOf(request);
  if (roles.some(isOutOfReach)) throw forbidden();
}

type OfInvitation = FastifyRequest<{ Params: { world_id: string; invitation_id: string } }>;

async function invitationOf(request: OfInvitation): Promise<InvitationRecord> {
  const { world_id, invitation_id } = request.params;
  const found = await request.server.store.invitations.get(world_id, invitation_id);
  if (!found) throw missingTo(request, "invitation");
  return found;
}

/**
 * Returns the invitation in the path, which the caller may change, and the revisions in which it
 * may be changed: the role that was checked must still be its role.
 * @throws {Refusal} 403, or 412 if it has another version than the caller expects.
 */
async function changeable(request: OfInvitation) {
  const found = await invitationOf(request);
  await expectReach(request, found.role);
  const expected = request.expectedVersions()?.map((version) => parseInt(version, 10));
  const revisions = expected?.filter((it) => it === found.revision) ?? [found.revision];
  return { found, revisions };
}

const OWN = "You cannot do this to yourself.";

/** Whether an invitation is the caller's own, whose rights only others may change. */
const isOwn = ({ caller }: FastifyRequest, { uid }: InvitationRecord): boolean =>
  caller.tokenId === uid;

/**
 * Parses an end.
 * @param name the field.
 * @throws {InvalidData} if there is no such time.
 */
function endIn(name: string, text: string | null | undefined): number | null | undefined {
  if (text === undefined || text === null) return text;
  const ms = timeIn(text);
  if (ms === undefined) throw new InvalidData({ [name]: ["Must be a valid time."] });
  return ms;
}

/** Signs the current link of an invitation. */
const linkOf = (request: FastifyRequest, invitation: InvitationRecord): Promise<string> =>
  invitationLink(request.world!.value, invitation, request.base);

const BY_AGE: ListOrder<InvitationRecord> = {
  name: "invitations",
  types: ["number"],
  placeOf: ({ number }) => [number],
};

const listInvitations = endpoint(
  {
    operationId: "listInvitations",
    summary: "List the invitations of a world",
    description: "Without their links.",
    tags: ["users"],
    params: WorldParams,
    querystring: InvitationsQuery,
    response: { 200: ref(InvitationList) },
  },
  async (request) => {
    const { store } = request.server;
    const { q, role, state } = request.query;
    const world = request.world!.value;
    const { found, links } = await readPage(request, request.query, BY_AGE, async (selection) => {
      const selected = { ...selection, q, role, state, now: Date.now() };
      const { count, invitations } = await store.invitations.list(world.id, selected);
      return { count, items: invitations };
    });
    const { count, items } = found;
    return { count, ...links, results: await shownInvitations(request.server.store, items, world) };
  },
);

const createInvitations = endpoint(
  {
    operationId: "createInvitations",
    summary: "Invite people",
    description:
      "Invites all of them, or none. The response contains their links, which are not shown again. Callers cannot give a role with rights that they lack. A `uid` requires `world.secrets`.",
    tags: ["users"],
    params: WorldParams,
    body: ref(InvitationDrafts),
    response: { 201: ref(CreatedInvitations) },
  },
  async (request, reply) => {
    const { server, body, base } = request;
    const world = request.world!.value;
    const drafts = Array.isArray(body) ? body : [body];
    const nameOf = (i: number, field: string) => (Array.isArray(body) ? `${i}.${field}` : field);
    await expectReach(request, ...new Set(drafts.map(({ role }) => role)));
    const uids = drafts.flatMap(({ uid }) => uid ?? []);
    if (uids.length > 0 && !may(request.caller, ["world.secrets"], { world })) throw forbidden();
    const inputs = drafts.map(({ expires_at, ...draft }, i) => ({
      ...draft,
      expires_at: endIn(nameOf(i, "expires_at"), expires_at),
    }));
    const { invitations } = server.store;
    const taken = new Set(uids.length > 0 ? await invitations.takenUids(world.id, uids) : []);
    const conflicts: Record<string, string[]> = {};
    for (const [i, { uid }] of drafts.entries()) {
      if (uid === undefined) continue;
      if (taken.has(uid)) conflicts[nameOf(i, "uid")] = [TAKEN];
      taken.add(uid);
    }
    if (Object.keys(conflicts).length > 0) throw new Conflict(conflicts);
    const made = await invitations
      .create(world.id, inputs, authorOf(request))
      .catch((error: unknown) => {
        if (!(error instanceof StoreError)) throw error;
        if (error.problem === "quota") throw beyondQuota(error.message);
        throw error.problem === "taken" ? new Conflict({ uid: [TAKEN] }) : error;
      });
    const results = await Promise.all(
      made.map(async (it) => ({
        ...shownInvitation(it, world, undefined),
        link: await linkOf(request, it),
      })),
    );
    reply.code(201).header("cache-control", "no-store");
    if (Array.isArray(body)) return results;
    const [one] = results as [(typeof results)[0]];
    reply.header("location", `${base}/api/v1/worlds/${world.id}/invitations/${one.id}/`);
    return one;
  },
);

const TAKEN = "Has an invitation already.";

const getInvitation = endpoint(
  {
    operationId: "getInvitation",
    summary: "Get an invitation",
    description: "Without its link.",
    tags: ["users"],
    params: InvitationParams,
    response: { 200: ref(Invitation) },
  },
  async (request, reply) => reply.sendVersioned(await recordOf(request)),
);

const updateInvitation = endpoint(
  {
    operationId: "updateInvitation",
    summary: "Change, revoke or restore an invitation",
    description:
      "A changed role applies immediately, including to open connections. Callers cannot change their own role or expiry, or the invitation of a person with rights that they lack.",
    tags: ["users"],
    params: InvitationParams,
    body: ref(InvitationChanges),
    response: { 200: ref(Invitation) },
  },
  async (request, reply) => {
    const { server, params, body } = request;
    const world = request.world!.value;
    const { found, revisions } = await changeable(request);
    const { id: _id, expires_at, ...rest } = body;
    const end = endIn("expires_at", expires_at);
    const changes: InvitationUpdate = {
      ...rest,
      // The end that a client has read and sends back is no new end.
      ...(end !== undefined && end !== endOf(found, world.config) && { expires_at: end }),
    };
    if (changes.role !== undefined) await expectReach(request, changes.role);
    if (isOwn(request, found)) {
      const { role = found.role, revoked = false } = changes;
      if (role !== found.role) throw new Conflict({ role: [OWN] });
      if (revoked) throw new Conflict({ revoked: [OWN] });
      if (changes.expires_at !== undefined) throw new Conflict({ expires_at: [OWN] });
    }
    const { world_id, invitation_id } = params;
    const by = authorOf(request);
    const { invitations } = server.store;
    await invitations.update(world_id, invitation_id, changes, revisions, by);
    return reply.sendVersioned(await recordOf(request));
  },
);

const deleteInvitation = endpoint(
  {
    operationId: "deleteInvitation",
    summary: "Delete an invitation",
    description:
      "Its links and sessions end at once. The person's messages and other content stay. A request body is ignored, but must be JSON.",
    tags: ["users"],
    params: InvitationParams,
    response: { 204: Type.Null({ description: "It is deleted." }) },
  },
  async (request, reply) => {
    const { found, revisions } = await changeable(request);
    if (isOwn(request, found)) throw new Refusal(409, OWN);
    const { world_id, invitation_id } = request.params;
    const { invitations } = request.server.store;
    await invitations.remove(world_id, invitation_id, revisions, authorOf(request));
    return reply.code(204).send(null);
  },
);

const renewLink = endpoint(
  {
    operationId: "renewInvitationLink",
    summary: "Create a new link for an invitation",
    description:
      "The old link and all sessions that it started end at once. Not possible for a revoked invitation. A request body is ignored.",
    tags: ["users"],
    params: InvitationParams,
    response: { 200: ref(InvitationLink) },
  },
  async (request, reply) => {
    const { found, revisions } = await changeable(request);
    if (found.revoked_at !== null) {
      throw new Refusal(409, "The invitation is revoked. Restore it first.");
    }
    const { world_id, invitation_id } = request.params;
    const renewed = await request.server.store.invitations.renew(
      world_id,
      invitation_id,
      "link",
      revisions,
      authorOf(request),
    );
    reply.header("cache-control", "no-store");
    return { link: await linkOf(request, renewed) };
  },
);

export default routes;
