import { createHash, timingSafeEqual } from "node:crypto";
import type {
  FastifyInstance,
  FastifyRequest,
  onRequestAsyncHookHandler,
  RouteOptions,
} from "fastify";
import { SERVER, type Author } from "../../db/contract/author.js";
import {
  isKeptOut,
  type UserRecord,
  type UserStore,
  type Versioned,
} from "../../db/contract/store.js";
import { closedTo, speakersAtDoor } from "../../db/rules/doors.js";
import {
  CALL,
  isWithheld,
  may,
  type PermissionKey,
  permissionStrings,
  SEE,
} from "../../schemas/plain/permissions.js";
import type { Room } from "../../schemas/rooms.js";
import type { World } from "../../schemas/worlds.js";
import { forbidden, missing, type Refusal, unauthenticated } from "../http/errors.js";
import { expectPermissions } from "../options.js";
import { type Credentials, type Identified, type Identity, IdentityError } from "./identity.js";

// Authentication and authorization over HTTP: the guard enforces each route's declaration, and
// rejected callers receive 401 or 403.

/** Admits a request or throws a refusal. Runs before the body is read, and possibly again later. */
export type Admission = (request: FastifyRequest) => void | Promise<void>;

/**
 * The callers that a route admits: everyone (`public`); callers who have `world.api` and all of
 * these keys in the path's world, and in the room if the path names one; or callers admitted by a
 * function.
 */
export type RouteRequirement = "public" | readonly (PermissionKey | OwnPermissionKey)[] | Admission;

/**
 * An embedder's own permission key, as declared in foyer's option `permissions`. This type
 * preserves editor completion of Foyer's keys; misspelled keys are detected at startup.
 */
type OwnPermissionKey = string & {};

declare module "fastify" {
  interface FastifyContextConfig {
    /**
     * The callers that the route admits. If neither the route nor {@link routesRequire} declares
     * them, the server refuses to start.
     */
    requires?: RouteRequirement;
  }
  interface FastifyRequest {
    /** The admission that the guard applied to the request; undefined on public routes. */
    admission: Admission | undefined;
    /** The request's world; set once the caller or uploader has been admitted. */
    world: Versioned<World> | undefined;
    /** The caller; set on every route that requires permission keys. */
    caller: Identity;
    /** The id of the caller's user; null if the token names no user of the world. */
    callerId: string | null;
    /** The moderation state of the caller's user; set together with `callerId`. */
    callerState: UserRecord["moderation_state"];
    /** The room named in the path; set on every route that requires keys and names a room. */
    room: Versioned<Room>;
  }
}

/** Property of a Fastify instance: the default requirement for the instance's routes. */
const kRequires = Symbol("what routes require");

type Scope = FastifyInstance & { [kRequires]?: RouteRequirement | undefined };

/**
 * Declares a requirement for routes added by a library, because a library cannot set
 * `config.requires`.
 * @param register registers the library on `app`, and resolves when the library is loaded.
 */
export async function routesRequire(
  app: FastifyInstance,
  requires: RouteRequirement,
  register: () => PromiseLike<unknown>,
): Promise<void> {
  const scope: Scope = app;
  const before = scope[kRequires];
  scope[kRequires] = requires;
  await register();
  scope[kRequires] = before;
}

/**
 * Returns the hook that enforces a route's `config.requires`, or undefined if the route is public.
 * @param app the Fastify instance to which the route is added.
 * @throws {Error} if no requirement is declared, or if it names an unknown permission key.
 */
export function guardOf(
  app: FastifyInstance,
  { method, url, config }: RouteOptions,
): onRequestAsyncHookHandler | undefined {
  const requires = config?.requires ?? (app as Scope)[kRequires];
  if (requires === undefined) {
    throw new Error(`${String(method)} ${url} does not declare what it requires (config.requires)`);
  }
  if (requires === "public") return undefined;
  if (typeof requires === "function") return guardBy(requires);
  expectPermissions(app, `${String(method)} ${url}`, requires);
  return guardCalls(requires as readonly PermissionKey[]);
}

function guardBy(admission: Admission): onRequestAsyncHookHandler {
  return async function guard(request) {
    request.admission = admission;
    await admission(request);
  };
}

function guardCalls(requires: readonly PermissionKey[]): onRequestAsyncHookHandler {
  const admission = (request: FastifyRequest) => authorize(request, requires);
  return async function guard(request, reply) {
    request.admission = admission;
    await admission(request);
    // A shared cache must not serve one caller's response to another.
    reply.header("cache-control", "private, no-cache");
  };
}

/** The path parameters of guarded routes. */
interface Named {
  world_id: string;
  room_id?: string;
}

const BEARER = /^Bearer +([\w.~+/=-]+)$/i;
const CLIENT = /^Client +(\S+)$/i;

/**
 * Returns the token from an Authorization header: undefined without a header, or empty if the
 * header contains something else. The usual form is not validated, which saves time for tokens that
 * have already been verified.
 */
export function tokenIn(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (header.startsWith("Bearer ") && header[7] !== " ") return header.slice(7);
  return BEARER.exec(header)?.[1] ?? "";
}

/** Parses an Authorization header on routes that also admit guests. */
export function credentialsIn(header: string | undefined): Credentials {
  const clientId = CLIENT.exec(header ?? "")?.[1];
  return clientId === undefined ? { token: tokenIn(header) } : { clientId };
}

/**
 * Admits callers who have `world.api` and every key in `requires`, unless moderation withholds a
 * required key. Sets `request.caller`, `request.world`, and `request.room` if the path names a
 * room.
 * @throws {Refusal} 401 or 403.
 */
export async function authorize(
  request: FastifyRequest,
  requires: readonly PermissionKey[],
): Promise<void> {
  const { identify, store } = request.server;
  const { authorization } = request.headers;
  const { world_id, room_id } = request.params as Named;
  let found: Identified;
  try {
    found = await identify({ token: tokenIn(authorization) }, world_id);
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error;
    throw refusalOf(error, authorization);
  }
  const { identity, world } = found;
  const place: { world: World; room?: Room } = { world: world.value };
  if (!may(identity, CALL, place)) throw forbidden();
  const { tokenId } = identity;
  const room = room_id === undefined ? undefined : await store.rooms.get(world_id, room_id);
  const known = tokenId === undefined ? undefined : await store.users.find(world_id, { tokenId });
  const user = await withPresentState(store.users, world_id, known);
  const state = user?.moderation_state ?? "";
  if (room) place.room = room.value;
  if (requires.includes("world.view") || !requires.some(isTeamKey)) {
    // People may do what everybody in the event may do only while they may be in the event.
    const entrant = {
      traits: identity.traits,
      isInvited: tokenId !== undefined,
      user: user?.id,
    };
    const now = Date.now();
    const speakers = await speakersAtDoor(store.program, world.value, now);
    if (closedTo(world.value, entrant, speakers, now)) throw forbidden();
  }
  // Moderation withholds all but a few keys from silenced users.
  const isAdmitted =
    (room !== undefined || room_id === undefined) &&
    !isKeptOut(state) &&
    may(identity, requires, place) &&
    !requires.some((key) => isWithheld(state, key));
  if (!isAdmitted) {
    // A room that the caller may not see is treated as missing.
    const isHidden = room_id !== undefined && !(room && may(identity, SEE, place));
    throw isHidden ? missing({ identity, state, world: world.value }, "room") : forbidden();
  }
  request.caller = identity;
  request.world = world;
  if (room) request.room = room;
  request.callerId = user?.id ?? null;
  request.callerState = state;
}

/**
 * Returns a user with the present moderation state: first ends a silence whose time is over, which
 * no process has done in a world without connections.
 */
export async function withPresentState(
  users: UserStore,
  world: string,
  user: UserRecord | undefined,
): Promise<UserRecord | undefined> {
  const now = Date.now();
  if (!user || user.moderated_until === null || user.moderated_until > now) return user;
  await users.endModeration(world, now, SERVER);
  return users.get(world, user.id);
}

/** Whether only people whom the organizer chose have a key, as opposed to everybody in the event. */
const isTeamKey = (key: PermissionKey): boolean => permissionStrings[key]?.open !== true;

/** Builds the refusal for a caller who could not be identified. */
export function refusalOf({ reason, message }: IdentityError, header: string | undefined): Refusal {
  if (reason === "foreign") return forbidden();
  return unauthenticated(
    header === undefined || BEARER.test(header)
      ? message
      : "The header must read: Authorization: Bearer <token>.",
  );
}

const digestOf = (text: string) => createHash("sha256").update(text).digest();

/**
 * Creates the guard for the server's own API, which admits only the server's operator. No other
 * route accepts the operator's token.
 * @param secret the ADMIN_TOKEN.
 */
export function operator(secret: string): Admission {
  const expected = digestOf(secret);
  return async (request) => {
    const token = tokenIn(request.headers.authorization);
    if (token !== undefined) {
      if (timingSafeEqual(digestOf(token), expected)) return;
      if (await isOfWorld(request, token)) throw forbidden();
    }
    throw unauthenticated(
      token === undefined
        ? "Authentication credentials were not provided."
        : "The token is not ADMIN_TOKEN.",
    );
  };
}

/** Whether the token belongs to a world on this server. Its bearer is then authenticated, but not authorized here. */
async function isOfWorld({ server, params }: FastifyRequest, token: string): Promise<boolean> {
  const { world_id = "" } = params as { world_id?: string };
  try {
    await server.identify({ token }, world_id);
    return true;
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error;
    return error.reason === "foreign";
  }
}

/** Number of digest characters to keep, which is enough to distinguish tokens. */
const DIGEST_CHARACTERS = 32;

/** Cached digests of verified tokens. Hashing a token takes a twentieth as long as a write. */
const digests = new WeakMap<Identity, string>();

/**
 * Returns the author of a REST write for the log: the token's user, or a digest of the token if its
 * `uid` identifies no user of the world. The digest does not reveal the token, but an operator who
 * has the token can find the token's log entries.
 * @param request on a route that requires permission keys.
 */
export function authorOf(request: FastifyRequest): Author {
  const { callerId, headers, caller, id } = request;
  if (callerId !== null) return { kind: "api", user: callerId, request: id };
  let token = digests.get(caller);
  if (token === undefined) {
    digests.set(caller, (token = tokenDigest(headers.authorization)));
  }
  return { kind: "api", token, uid: caller.tokenId, request: id };
}

/** Returns the author of a write made with a token that identifies no user. */
export const tokenAuthor = (authorization: string | undefined): Author => ({
  kind: "api",
  token: tokenDigest(authorization),
});

const tokenDigest = (authorization: string | undefined): string =>
  createHash("sha256").update(tokenIn(authorization)!).digest("hex").slice(0, DIGEST_CHARACTERS);
