import type { FastifyRequest } from "fastify";
import { isKeptOut } from "../../db/contract/store.js";
import { may } from "../../schemas/plain/permissions.js";
import { forbidden } from "../http/errors.js";
import { credentialsIn, refusalOf } from "./guard.js";
import { type Identified, IdentityError } from "./identity.js";

/**
 * Admits anyone who has entered the world in the path, for routes about the caller: people with a
 * token, and guests with their client ID. Sets the same properties of the request as a route that
 * requires permission keys.
 * @throws {Refusal} 401 or 403.
 */
export async function person(request: FastifyRequest): Promise<void> {
  const { server, headers, params } = request;
  const { world_id } = params as { world_id: string };
  let found: Identified;
  try {
    found = await server.identify(credentialsIn(headers.authorization), world_id);
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error;
    throw refusalOf(error, headers.authorization);
  }
  const { identity, world } = found;
  const { tokenId, clientId } = identity;
  if ((tokenId ?? clientId) === undefined) throw forbidden();
  if (!may(identity, ["world.view"], { world: world.value })) throw forbidden();
  const user = await server.store.users.find(world_id, { tokenId, clientId });
  if (!user || user.deleted || isKeptOut(user.moderation_state)) throw forbidden();
  request.caller = identity;
  request.world = world;
  request.callerId = user.id;
  request.callerState = user.moderation_state;
}
