import type { FastifyRequest } from "fastify";
import type { Versioned, Visitor } from "../../db/contract/store.js";
import { may, UPLOAD } from "../../schemas/plain/permissions.js";
import type { World } from "../../schemas/worlds.js";
import { Refusal } from "../http/errors.js";
import { credentialsIn } from "./guard.js";
import { type Identity, IdentityError } from "./identity.js";

declare module "fastify" {
  interface FastifyRequest {
    /** The uploading caller; set on routes that require an {@link uploader}. */
    uploader: Visitor;
  }
}

/**
 * Admits callers with the right to upload to the world that the request names: by the query
 * parameter `world`, or else by its host. Sets `request.world` and `request.uploader`. Refuses
 * banned and silenced users.
 * @throws {Refusal} 403 with no body, for every reason; 429 for too many new guests.
 */
export async function uploader(request: FastifyRequest): Promise<void> {
  const { server } = request;
  const world = await worldOf(request);
  const who = world && (await identityOf(request, world.value.id));
  if (!who || !may(who, UPLOAD, { world: world.value })) {
    throw new Refusal(403, "");
  }
  const user = await server.store.users.find(world.value.id, who);
  if (user?.moderation_state) throw new Refusal(403, "");
  const { tokenId, clientId, traits, profile } = who;
  // It is asked again when the body has arrived.
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
  request.uploader = { tokenId, clientId, traits, profile };
}

/** Admits an {@link uploader} who may also change the program. */
export async function programUploader(request: FastifyRequest): Promise<void> {
  await uploader(request);
  const place = { world: request.world!.value };
  if (!may(request.uploader, ["program.update"], place)) {
    throw new Refusal(403, "");
  }
}

/**
 * Checks the rights of an uploader again, before an upload becomes visible: its body may have
 * taken minutes.
 * @param world the id of the world that the request named at first.
 * @throws {Refusal} as at first, and if the request names another world by now.
 */
export async function admitAgain(request: FastifyRequest, world: string): Promise<void> {
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
  // Twice, it names none.
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
    // A bad token gets the same answer as no right to upload.
    if (error instanceof IdentityError) return undefined;
    throw error;
  }
}
