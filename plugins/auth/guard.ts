import { createHash, timingSafeEqual } from "node:crypto";
import type {
  FastifyInstance,
  FastifyRequest,
  onRequestAsyncHookHandler,
  RouteOptions,
} from "fastify";
import type { Author } from "../../db/contract/author.js";
import type { UserRecord, Versioned } from "../../db/contract/store.js";
import { CALL, isWithheld, may, type PermissionKey, SEE } from "../../schemas/plain/permissions.js";
import type { Room } from "../../schemas/rooms.js";
import type { World } from "../../schemas/worlds.js";
import { forbidden, missing, type Refusal, unauthenticated } from "../http/errors.js";
import { expectPermissions } from "../options.js";
import { type Credentials, type Identified, type Identity, IdentityError } from "./identity.js";

// Identities and rights over HTTP: the guard enforces the declaration of each route, and
// a refused caller gets 401 or 403.

/**
 * Lets a request pass, or throws a refusal. It runs before the body is
 * read, and perhaps again after it.
 */
export type Admission = (request: FastifyRequest) => void | Promise<void>;

/**
 * The callers that a route admits: everybody; callers of the world in its path with
 * `world.api` and each of these keys, on the room if the path names one; or the
 * callers that a function admits.
 */
export type Requirement = "public" | readonly (PermissionKey | OwnPermissionKey)[] | Admission;

/**
 * A permission key of an embedder, which the option `permissions` of foyer names. The type still
 * lets editors complete the keys of Foyer; the start finds misspelled ones.
 */
type OwnPermissionKey = string & {};

declare module "fastify" {
  interface FastifyContextConfig {
    /** The callers that the route admits. Without it the server does not start. */
    requires?: Requirement;
  }
  interface FastifyRequest {
    /** The guard that admitted the request; undefined on public routes. */
    admission: Admission | undefined;
    /** The world that the request is for; set once its caller or uploader is admitted. */
    world: Versioned<World> | undefined;
    /** The caller; set on every route that requires permission keys. */
    caller: Identity;
    /** The id of the caller's user; null if the token names no user of the world. */
    callerId: string | null;
    /** What moderation decided about the caller's user; set with `callerId`. */
    callerState: UserRecord["moderation_state"];
    /** The room that the path names; set on every such route that names one. */
    room: Versioned<Room>;
  }
}

/** On an instance: the requirement of routes that declare none themselves. */
const kRequires = Symbol("what routes require");

type Scope = FastifyInstance & { [kRequires]?: Requirement | undefined };

/**
 * Declares a requirement for the routes that a library adds, which cannot declare it.
 * @param register registers the library on `app`, and resolves when it is loaded.
 */
export async function routesRequire(
  app: FastifyInstance,
  requires: Requirement,
  register: () => PromiseLike<unknown>,
): Promise<void> {
  const scope: Scope = app;
  const before = scope[kRequires];
  scope[kRequires] = requires;
  await register();
  scope[kRequires] = before;
}

/**
 * The hook that guards a route by its `config.requires`; undefined if the route is
 * public.
 * @param app the scope of the route.
 * @throws {Error} if the route declares nothing.
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
    // A shared cache must not give one caller's answer to another.
    reply.header("cache-control", "private, no-cache");
  };
}

/** The parameters in the path of such a route. */
interface Named {
  world_id: string;
  room_id?: string;
}

const BEARER = /^Bearer +([\w.~+/=-]+)$/i;
const CLIENT = /^Client +(\S+)$/i;

/**
 * The token in an Authorization header; empty if the header holds something else.
 * Its characters are not checked here: a token that was verified before needs no
 * second look at them.
 */
export function tokenIn(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (header.startsWith("Bearer ") && header[7] !== " ") return header.slice(7);
  return BEARER.exec(header)?.[1] ?? "";
}

/** The content of an Authorization header, on routes that admit guests, too. */
export function credentialsIn(header: string | undefined): Credentials {
  const clientId = CLIENT.exec(header ?? "")?.[1];
  return clientId === undefined ? { token: tokenIn(header) } : { clientId };
}

/**
 * Admits a caller who has `world.api` and every key of `requires`, and whom moderation leaves
 * them. Sets `request.caller`, `request.world`, and `request.room` if the path names one.
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
  const user = tokenId === undefined ? undefined : await store.users.find(world_id, { tokenId });
  const state = user?.moderation_state ?? "";
  if (room) place.room = room.value;
  // Of a silenced user, moderation takes all but a few keys.
  const isAdmitted =
    (room !== undefined || room_id === undefined) &&
    state !== "banned" &&
    may(identity, requires, place) &&
    !requires.some((key) => isWithheld(state, key));
  if (!isAdmitted) {
    // A room that the caller may not see is as good as none.
    const isHidden = room_id !== undefined && !(room && may(identity, SEE, place));
    throw isHidden ? missing({ identity, state, world: world.value }, "room") : forbidden();
  }
  request.caller = identity;
  request.world = world;
  if (room) request.room = room;
  request.callerId = user?.id ?? null;
  request.callerState = state;
}

/** The answer to a caller who could not be identified. */
function refusalOf({ reason, message }: IdentityError, header: string | undefined): Refusal {
  if (reason === "foreign") return forbidden();
  return unauthenticated(
    header === undefined || BEARER.test(header)
      ? message
      : "The header must read: Authorization: Bearer <token>.",
  );
}

const digestOf = (text: string) => createHash("sha256").update(text).digest();

/**
 * Makes the guard of the server's own API, which admits only its operator. No other
 * route takes the token.
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
        : "The token is not the server's.",
    );
  };
}

/** Whether a world of this server signed a token, whose bearer then is known and has no right here. */
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

/** How many characters of a digest distinguish tokens. */
const DIGEST_CHARACTERS = 32;

/** The digests of verified tokens. To hash a token takes a twentieth of a write. */
const digests = new WeakMap<Identity, string>();

/**
 * The author of a REST write, as the log names it: the user of the token, or a digest of the
 * token if its `uid` names no user of the world. The digest does not reveal the token, but an
 * operator who holds the token can find its entries.
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

/** The author of a write by a token that names no user. */
export const tokenAuthor = (authorization: string | undefined): Author => ({
  kind: "api",
  token: tokenDigest(authorization),
});

const tokenDigest = (authorization: string | undefined): string =>
  createHash("sha256").update(tokenIn(authorization)!).digest("hex").slice(0, DIGEST_CHARACTERS);
