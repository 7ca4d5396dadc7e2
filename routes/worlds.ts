import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import { authorOf } from "../plugins/auth/author.js";
import { issuerFaults } from "../plugins/auth/issuer-faults.js";
import { allowSameId } from "../plugins/validation.js";
import { InvalidData } from "../schemas/validate.js";
import { ref } from "../schemas/values.js";
import { World, WorldChanges, WorldParams } from "../schemas/worlds.js";
import type { EventDates } from "../schemas/event-dates.js";
import { eventFaults } from "../db/rules/program-checks.js";
import { uploadKey } from "../db/rules/program-uploads.js";
import { hostsOf } from "./program/program-access.js";
import { endpoint } from "./endpoint.js";

const WORLD = "/api/v1/worlds/:world_id/";

/** One event space. */
const routes: FastifyPluginAsync = async (app) => {
  app.get(WORLD, {
    config: { requires: ["world.secrets"], versioned: true },
    ...getWorld,
  });
  app.patch(WORLD, {
    config: { requires: ["world.secrets", "world.update"], versioned: true },
    ...allowSameId("world_id"),
    ...updateWorld,
  });
};

const getWorld = endpoint(
  {
    operationId: "getWorld",
    summary: "Get a world, with its keys",
    description:
      "With its keys and other secrets, so it asks for `world.secrets`. Its `ETag` names the state for `If-Match`.",
    tags: ["worlds"],
    params: WorldParams,
    response: { 200: ref(World) },
  },
  (request, reply) => void reply.sendVersioned(request.world!),
);

const updateWorld = endpoint(
  {
    operationId: "updateWorld",
    summary: "Replace fields of a world",
    description:
      "A config without JWT_secrets keeps the present keys; with it, they are replaced at once. JWT_issuers and oidc do the same.",
    tags: ["worlds"],
    params: WorldParams,
    body: ref(WorldChanges),
    response: { 200: ref(World) },
  },
  async (request, reply) => {
    const { store, outbound } = request.server;
    const { world_id } = request.params;
    await checkEvent(request, request.body.config?.event);
    const versions = request.expectedVersions();
    const { config = {} } = request.body;
    const faults = await issuerFaults(config, outbound);
    if (Object.keys(faults).length > 0) throw new InvalidData(faults);
    return reply.sendVersioned(
      await store.worlds.update(
        world_id,
        request.body,
        versions,
        authorOf(request),
      ),
    );
  },
);

/**
 * Checks what the schema of the dates of an event cannot say.
 * @throws {InvalidData}
 */
async function checkEvent(
  request: FastifyRequest,
  event: EventDates | undefined,
): Promise<void> {
  if (!event) return;
  const { id, config } = request.world!.value;
  const faults = Object.entries(eventFaults(event) ?? {}).map(
    ([field, messages]): [string, string[]] => [
      `config.event.${field}`,
      messages,
    ],
  );
  const { url } = event.cover ?? {};
  const present = config.event as EventDates | null | undefined;
  // What is there may be sent back, even if the file is gone.
  if (url !== undefined && url !== present?.cover?.url) {
    const key = uploadKey(url, id, hostsOf(request));
    if (key === undefined || !(await request.server.store.files.has(key))) {
      faults.push([
        "config.event.cover.url",
        ["Must be the address of an upload of this world."],
      ]);
    }
  }
  if (faults.length > 0) throw new InvalidData(Object.fromEntries(faults));
}

export default routes;
