import type { FastifyRequest } from "fastify";
import type { Versioned, Visitor } from "../../db/contract/store.js";
import { guestEntry } from "../../schemas/plain/guests.js";
import { closedTo, speakersAtDoor } from "../../db/rules/doors.js";
import { allowedProfile } from "../../schemas/plain/moderation/blocked-words.js";
import { may, UPLOAD } from "../../schemas/plain/permissions.js";
import type { World } from "../../schemas/worlds.js";
import { Refusal } from "../http/errors.js";
import { bannableNetwork } from "../limits/guests.js";
import { credentialsIn, withPresentState } from "./guard.js";
import { type Identity, IdentityError } from "./identity.js";

declare module "fastify" {
  interface FastifyRequest {
    /** The uploading caller; set on routes that require an {@link uploader}. */
    uploader: Visitor;
  }
}

/**
 * Admits callers who may upload to the request's world, which is the world named by the query
 * parameter `world` or, without that parameter, the world at the request's host. Sets
 * `request.world` and `request.uploader`. Rejects banned and silenced users.
 * @throws {Refusal} 429 for too many new guests; otherwise 403 with no body, whatever the reason.
 */
export async function uploader(request: FastifyRequest): Promise<void> {
  const { server } = request;
  const world = await worldOf(request);
  const who = world && (await identityOf(request, world.value.id));
  if (!who || !may(who, UPLOAD, { world: world.value })) {
    throw new Refusal(403, "");
  }
  const { users } = server.store;
  const user = await withPresentState(users, world.value.id, await users.find(world.value.id, who));
  if (user?.moderation_state) throw new Refusal(403, "");
  const now = Date.now();
  const speakers = await speakersAtDoor(server.store.program, world.value, now);
  const entrant = { traits: who.traits, isInvited: who.tokenId !== undefined, user: user?.id };
  if (closedTo(world.value, entrant, speakers, now)) throw new Refusal(403, "");
  const { tokenId, clientId, traits } = who;
  const profile = allowedProfile(world.value.config, who.profile);
  if (tokenId === undefined && !user && !admitsAtOnce(world.value)) throw new Refusal(403, "");
  // This function runs again after the body has arrived; count a guest only once.
  const isFirst = !(request.uploader as Visitor | null);
  if (clientId !== undefined && !user && isFirst) {
    const { guests } = server;
    const address = guests.addressOf(request.raw);
    if (!(await guests.admits(world.value.id, clientId, address))) {
      throw new Refusal(429, "Too many new guests. Try again in a minute.", {
        "retry-after": "60",
      });
    }
  }
  request.world = world;
  const network = bannableNetwork(server.guests.addressOf(request.raw));
  request.uploader = { tokenId, clientId, traits, profile, network };
}

/** Whether new guests may write at once, without an approval and minutes of reading. */
function admitsAtOnce({ config }: World): boolean {
  const { waits, quietUntil } = guestEntry(config, 0);
  return !waits && quietUntil === undefined;
}

/** Admits an {@link uploader} who may also edit the program. */
export async function programUploader(request: FastifyRequest): Promise<void> {
  await uploader(request);
  const place = { world: request.world!.value };
  if (!may(request.uploader, ["program.update"], place)) {
    throw new Refusal(403, "");
  }
}

/**
 * Re-checks an uploader's permissions before an upload becomes visible, because receiving the body
 * may have taken minutes.
 * @param world the id of the world that the request originally named.
 * @throws {Refusal} for the same reasons as the original check, or if the request now resolves to
 * another world.
 */
export async function readmit(request: FastifyRequest, world: string): Promise<void> {
  await request.admission!(request);
  if (request.world!.value.id !== world) throw new Refusal(403, "");
}

async function worldOf({
  query,
  host,
  server,
}: FastifyRequest): Promise<Versioned<World> | undefined> {
  const { world } = query as { world?: string | string[] };
  const { worlds } = server.store;
  if (world === undefined) return worlds.at(host.toLowerCase());
  // A repeated parameter names no world.
  return typeof world === "string" ? worlds.get(world) : undefined;
}

async function identityOf(
  { headers, server }: FastifyRequest,
  worldId: string,
): Promise<Identity | undefined> {
  try {
    const credentials = credentialsIn(headers.authorization);
    const { identity } = await server.identify(credentials, worldId);
    const { tokenId, clientId } = identity;
    return tokenId || clientId ? identity : undefined;
  } catch (error) {
    // A bad token gets the same response as a missing permission.
    if (error instanceof IdentityError) return undefined;
    throw error;
  }
}
