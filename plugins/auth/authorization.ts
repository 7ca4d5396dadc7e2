import type { FastifyRequest } from "fastify";
import type { Versioned } from "../../db/store.js";
import {
  CALL,
  may,
  type PermissionKey,
} from "../../schemas/plain/permissions.js";
import type { Room } from "../../schemas/rooms.js";
import type { World } from "../../schemas/worlds.js";
import { forbidden, type Refusal, unauthenticated } from "../http/errors.js";
import {
  type Credentials,
  type Identified,
  type Identity,
  IdentityError,
} from "./identity.js";

// Identities and rights over HTTP: parses the Authorization header and answers 401
// and 403.

declare module "fastify" {
  interface FastifyRequest {
    /** The world that the request is for; set once its caller or uploader is admitted. */
    world: Versioned<World> | undefined;
    /** Who is calling; set on every route that requires permission keys. */
    caller: Identity;
    /** The room that the path names; set on every such route that names one. */
    room: Versioned<Room>;
  }
}

/** What the path of such a route names. */
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
function tokenIn(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (header.startsWith("Bearer ") && header[7] !== " ") return header.slice(7);
  return BEARER.exec(header)?.[1] ?? "";
}

/** What an Authorization header holds, where guests are welcome, too. */
export function credentialsIn(header: string | undefined): Credentials {
  const clientId = CLIENT.exec(header ?? "")?.[1];
  return clientId === undefined ? { token: tokenIn(header) } : { clientId };
}

/**
 * Admits a caller who has `world.api` and every key of `requires`. Sets
 * `request.caller`, `request.world`, and `request.room` if the path names one.
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
  request.caller = identity;
  request.world = world;
  const place: { world: World; room?: Room } = { world: world.value };
  if (!may(identity, CALL, place)) throw forbidden();
  if (room_id !== undefined) {
    const room = await store.rooms.get(world_id, room_id);
    if (!room) throw forbidden();
    request.room = room;
    place.room = room.value;
  }
  if (!may(identity, requires, place)) throw forbidden();
}

/** The answer to a caller who could not be identified. */
function refusalOf(
  { reason, message }: IdentityError,
  header: string | undefined,
): Refusal {
  if (reason === "foreign") return forbidden();
  return unauthenticated(
    header === undefined || BEARER.test(header)
      ? message
      : "The header must read: Authorization: Bearer <token>.",
  );
}
