import { Type } from "@sinclair/typebox";
import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import type { InvitationStanding } from "../db/contract/invitation-store.js";
import { CHALLENGE_MS, type StoredPasskey } from "../db/contract/passkey-store.js";
import { type Store, StoreError, type UserRecord } from "../db/contract/store.js";
import { endOf } from "../db/rules/invitation-rows.js";
import { issuersOf } from "../db/rules/world-rows.js";
import { draftWorld, signInvitation, signToken } from "../db/world-management.js";
import { authorOf } from "../plugins/auth/guard.js";
import { person } from "../plugins/auth/person.js";
import { seal, unseal } from "../plugins/auth/sealed.js";
import { beyondQuota, Conflict, forbidden, missingTo, Refusal } from "../plugins/http/errors.js";
import { networkOf } from "../plugins/limits/guests.js";
import { limitRate } from "../plugins/limits/request-rate.js";
import { responseRef } from "../plugins/openapi/parts.js";
import {
  keyDigest,
  loginOptions,
  registrationOptions,
  siteOf,
  verifyLogin,
  verifyRegistration,
} from "../plugins/passkeys/ceremony.js";
import {
  type Passkey,
  PasskeyDraft,
  passkeyId,
  PasskeyList,
  PasskeyLogin,
  PasskeyOptions,
  PasskeySession,
  Passkey as PasskeySchema,
} from "../schemas/passkeys.js";
import { InvalidData } from "../schemas/validate.js";
import { ref } from "../schemas/values.js";
import { type World, type WorldConfig, WorldParams } from "../schemas/worlds.js";
import { endpoint } from "./endpoint.js";

const PASSKEYS = "/api/v1/worlds/:world_id/passkeys/";

const Params = Type.Object({ ...WorldParams.properties, passkey_id: passkeyId });

/** Maximum number of responses per minute from one network. A whole hall may share an address. */
const LOGINS_PER_MINUTE = 300;

/** Lifetime of a token issued after a sign-in with a passkey. */
const SESSION = "30d";

const PASSKEY_SEAL = "passkey 1";

/** A ceremony in progress. The page holds its state on behalf of the server. */
interface Ceremony {
  readonly challenge: string;
  /** Expiry, in milliseconds since 1970. */
  readonly ends: number;
}

/** The caller's passkeys, and signing in with a passkey. */
const routes: FastifyPluginAsync = async (app) => {
  // The responses contain challenges and credentials, and differ by caller.
  app.addHook("onRequest", async (_request, reply) => {
    reply.header("cache-control", "no-store");
  });

  const config = { requires: person, uncached: true } as const;
  const conflict = { 409: responseRef("Conflict") };
  app.get(PASSKEYS, { config, ...listPasskeys });
  app.post(PASSKEYS, { config: { ...config, answers: conflict }, ...addPasskey });
  app.post(`${PASSKEYS}options/`, { config, ...startAdding });
  app.delete(`${PASSKEYS}:passkey_id/`, { config, ...removePasskey });

  const onRequest = limitRate({
    perMinute: LOGINS_PER_MINUTE,
    what: "sign-ins",
    keyOf: (request) => {
      const address = app.guests.addressOf(request.raw);
      return networkOf(address) ?? address;
    },
  });
  const answers = {
    401: responseRef("Unauthenticated"),
    403: responseRef("Forbidden"),
    429: responseRef("TooMany"),
  };
  const open = { requires: "public", uncached: true, answers } as const;
  app.post(`${PASSKEYS}login/options/`, { config: open, onRequest, ...startLogin });
  app.post(`${PASSKEYS}login/`, { config: open, onRequest, ...logIn });
};

const time = (ms: number) => new Date(ms).toISOString();

const shown = ({ id, name, host, created, used }: StoredPasskey): Passkey => ({
  id,
  name,
  host,
  created_at: time(created),
  used_at: used === null ? null : time(used),
});

/** Starts a ceremony, and seals its challenge for the page. */
function begun<O extends { challenge: string }>(world: World, place: string[], options: O) {
  const ceremony: Ceremony = { challenge: options.challenge, ends: Date.now() + CHALLENGE_MS };
  return { options, state: seal(world, PASSKEY_SEAL, place, ceremony) };
}

/**
 * Returns a ceremony's challenge.
 * @param place the kind of ceremony, and its user.
 * @throws {InvalidData} if the state is invalid or has expired.
 */
function challengeIn(world: World, place: string[], state: string): string {
  const ceremony = unseal<Ceremony>(world, PASSKEY_SEAL, place, state);
  if (ceremony) return ceremony.challenge;
  throw new InvalidData({ state: ["It has expired, or belongs to something else. Start again."] });
}

const listPasskeys = endpoint(
  {
    operationId: "listPasskeys",
    summary: "List your passkeys",
    description: "The caller's passkeys, oldest first, on one page. There are at most 10.",
    tags: ["users"],
    params: WorldParams,
    response: { 200: ref(PasskeyList) },
  },
  async (request) => {
    const { store } = request.server;
    const all = await store.passkeys.of(request.params.world_id, request.callerId!);
    return { count: all.length, next: null, previous: null, results: all.map(shown) };
  },
);

const startAdding = endpoint(
  {
    operationId: "startPasskey",
    summary: "Begin to add a passkey",
    description: "Pass `options` to `navigator.credentials.create()`.",
    tags: ["users"],
    params: WorldParams,
    response: { 200: ref(PasskeyOptions) },
  },
  async (request) => {
    const { store } = request.server;
    const world = request.world!.value;
    const id = request.callerId!;
    const [user, present] = await Promise.all([
      store.users.get(world.id, id),
      store.passkeys.of(world.id, id),
    ]);
    const name = nameOf(user);
    const options = await registrationOptions(
      siteOf(request.base),
      world.title,
      { id, name },
      present,
    );
    return begun(world, ["add", id], options);
  },
);

/** Returns a user's display name, for the list of passkeys on the person's device. */
function nameOf(user: UserRecord | undefined): string {
  const name = user?.profile?.["display_name"];
  return typeof name === "string" && name.trim() !== "" ? name.trim().slice(0, 100) : "Guest";
}

const addPasskey = endpoint(
  {
    operationId: "addPasskey",
    summary: "Add a passkey to yourself",
    description: "A person has at most 10.",
    tags: ["users"],
    params: WorldParams,
    body: ref(PasskeyDraft),
    response: { 201: ref(PasskeySchema) },
  },
  async (request, reply) => {
    const { store } = request.server;
    const world = request.world!.value;
    const user = request.callerId!;
    const { state, name = "Passkey", response } = request.body;
    const challenge = challengeIn(world, ["add", user], state);
    const site = siteOf(request.base);
    const credential = await verifyRegistration(site, challenge, response);
    if (!credential) throw new InvalidData({ response: ["It is not valid for this page."] });
    const passkey: StoredPasskey = {
      ...credential,
      user,
      name,
      host: site.host,
      proof: await proofOf(request),
      created: Date.now(),
      used: null,
    };
    try {
      await store.passkeys.add(world.id, passkey, challenge, authorOf(request));
    } catch (error) {
      throw problemOf(error);
    }
    return reply.code(201).send(shown(passkey));
  },
);

function problemOf(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  if (error.problem === "quota") return beyondQuota(error.message);
  if (error.problem === "taken") return new Conflict({ response: [error.message] });
  // Another request has already used the challenge.
  if (error.problem === "changed") {
    return new InvalidData({ state: ["It was used before. Start again."] });
  }
  return error;
}

/** Returns what proves the identity of the caller; see {@link StoredPasskey.proof}. */
async function proofOf({ caller, server, world }: FastifyRequest): Promise<string> {
  const { key, invitation } = caller;
  if (invitation) {
    const standing = await server.store.invitations.standing(world!.value.id, invitation.id);
    if (!standing) throw forbidden();
    return invitationProof(standing);
  }
  return key === undefined ? "guest" : keyDigest(key);
}

/** The proof of an invited person. Revoking the invitation permanently changes its serial. */
const invitationProof = ({ id, session }: InvitationStanding) => `invitation ${id} ${session}`;

const removePasskey = endpoint(
  {
    operationId: "removePasskey",
    summary: "Remove one of your passkeys",
    description:
      "It can no longer be used to sign in. A request body is ignored, but must be JSON.",
    tags: ["users"],
    params: Params,
    response: { 204: Type.Null({ description: "It is removed." }) },
  },
  async (request, reply) => {
    const { world_id, passkey_id } = request.params;
    const { passkeys } = request.server.store;
    try {
      await passkeys.remove(world_id, request.callerId!, passkey_id, authorOf(request));
    } catch (error) {
      const isAbsent = error instanceof StoreError && error.problem === "absent";
      throw isAbsent ? missingTo(request, "passkey") : error;
    }
    return reply.code(204).send(null);
  },
);

const startLogin = endpoint(
  {
    operationId: "startPasskeyLogin",
    summary: "Begin to sign in with a passkey",
    description:
      "Pass `options` to `navigator.credentials.get()`. They are the same for everybody.",
    tags: ["users"],
    params: WorldParams,
    response: { 200: ref(PasskeyOptions) },
  },
  async (request) => {
    const world = await worldOf(request);
    return begun(world, ["login"], await loginOptions(siteOf(request.base)));
  },
);

/** Stands in for worlds that do not exist, so that their passkeys look unknown. */
const NOWHERE = draftWorld({ id: "", title: "", domain: "" });

/**
 * Returns the world in the path, or {@link NOWHERE}, so that the response does not reveal whether
 * the world exists.
 */
async function worldOf({
  server,
  params,
}: FastifyRequest<{ Params: { world_id: string } }>): Promise<World> {
  return (await server.store.worlds.get(params.world_id))?.value ?? NOWHERE;
}

const logIn = endpoint(
  {
    operationId: "logInWithPasskey",
    summary: "Sign in with a passkey",
    description:
      "Returns a token with the person's current rights, or a guest's client ID. An unknown passkey or an invalid response is a 401.",
    tags: ["users"],
    params: WorldParams,
    body: ref(PasskeyLogin),
    response: { 200: ref(PasskeySession) },
  },
  async (request) => {
    const { store } = request.server;
    const world = await worldOf(request);
    const { state, response } = request.body;
    const challenge = challengeIn(world, ["login"], state);
    const passkey = await store.passkeys.get(world.id, response.id);
    const user = passkey && (await store.users.get(world.id, passkey.user));
    if (!user || user.deleted) throw unknown();
    const use = await verifyLogin(siteOf(request.base), challenge, response, passkey);
    if (!use) throw unknown();
    try {
      await store.passkeys.use(world.id, { ...use, at: Date.now() }, authorIn(user));
    } catch (error) {
      // The challenge was already used, the counter did not increase, or the passkey was just
      // removed.
      const isRefused = error instanceof StoreError && /^(absent|changed)$/.test(error.problem);
      throw isRefused ? unknown() : error;
    }
    if (user.moderation_state === "banned") throw new Refusal(403, "You were removed.");
    return sessionOf(store, world, user, passkey);
  },
);

const authorIn = ({ id }: UserRecord) => ({ kind: "user", user: id }) as const;

const unknown = () =>
  new Refusal(401, "This passkey does not sign anyone in here.", {
    "www-authenticate": "Bearer",
  });

/**
 * Returns the credentials of a person who has signed in: those of the person's invitation, or of a
 * person who was not invited and whose token was signed with a key that the world still has.
 * @throws {Refusal} 403 if what the passkey was based on has ended.
 */
async function sessionOf(store: Store, world: World, user: UserRecord, { proof }: StoredPasskey) {
  const { token_id: uid, client_id, traits } = user;
  if (uid === null) {
    if (client_id === null) throw ended();
    return { client_id };
  }
  const { config } = world;
  const invitation = await store.invitations.byUser(world.id, uid);
  if (invitation && !isOpen(invitation, config)) throw ended();
  if (invitation && proof === invitationProof(invitation)) {
    return { token: await signInvitation(world, invitation, "session", SESSION) };
  }
  const keys = [...config.JWT_secrets, ...issuersOf(config)];
  if (!keys.some((key) => keyDigest(key) === proof)) throw ended();
  return { token: await signToken(world, { uid, traits, expiresIn: SESSION }) };
}

/** Whether an invitation is neither revoked nor expired. */
function isOpen(invitation: InvitationStanding, config: WorldConfig): boolean {
  const end = endOf(invitation, config);
  return invitation.revoked_at === null && (end === null || Date.now() < end);
}

const ended = () => new Refusal(403, "The access that this passkey belongs to has ended.");

export default routes;
