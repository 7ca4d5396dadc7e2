import { Type } from "@sinclair/typebox";
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import { StoreError, type Versioned } from "../db/contract/store.js";
import { uploadKey } from "../db/rules/file-rows.js";
import { accessFaults, eventFaults } from "../db/rules/program-checks.js";
import { authorOf } from "../plugins/auth/guard.js";
import { issuerFaults } from "../plugins/auth/issuer-faults.js";
import { headerRefs, schemaRef } from "../plugins/openapi/parts.js";
import { allowSameId } from "../plugins/validation.js";
import type { Access } from "../schemas/access.js";
import { Problem } from "../schemas/errors.js";
import type { EventDates } from "../schemas/event-dates.js";
import { blockedWordFaults, type BlockedWords } from "../schemas/plain/moderation/blocked-words.js";
import { may } from "../schemas/plain/permissions.js";
import { InvalidData } from "../schemas/validate.js";
import { ref } from "../schemas/values.js";
import {
  ScheduleUpdate,
  World,
  WorldChanges,
  type WorldConfig,
  WorldParams,
} from "../schemas/worlds.js";
import { endpoint } from "./endpoint.js";
import { hostsOf } from "./program/program-access.js";

const WORLD = "/api/v1/worlds/:world_id/";

/** A single world. */
const routes: FastifyPluginAsync = async (app) => {
  app.get(WORLD, { config: { requires: ["world.secrets"], versioned: true }, ...getWorld });
  app.patch(WORLD, {
    config: { requires: ["world.secrets", "world.update"], versioned: true },
    ...allowSameId("world_id"),
    ...updateWorld,
  });
  app.post(`${WORLD}schedule_update`, {
    config: { requires: [], answers: { 401: NO_SUCH_SCHEDULE } },
    ...updateSchedule,
  });
};

/** A refusal by the guard, or the message that Venueless sends. */
const NO_SUCH_SCHEDULE = {
  description: "The token is not accepted, or the world shows another schedule.",
  headers: headerRefs("Cache-Control", "WWW-Authenticate"),
  content: { "application/json": { schema: { anyOf: [schemaRef(Problem), { type: "string" }] } } },
};

const getWorld = endpoint(
  {
    operationId: "getWorld",
    summary: "Get a world, with its keys",
    description:
      "Includes keys and other secrets, so it requires `world.secrets`. Omits `blocked_words` without `world.update`. Pass its `ETag` in `If-Match` to update this version.",
    tags: ["worlds"],
    params: WorldParams,
    response: { 200: ref(World) },
  },
  (request, reply) => {
    const world = request.world!;
    const seesAll = may(request.caller, ["world.update"], { world: world.value });
    void reply.sendVersioned(seesAll ? world : withoutBlockedWords(world));
  },
);

/** Returns a world without the words that only callers with `world.update` read. */
function withoutBlockedWords({ value, version }: Versioned<World>): Versioned<World> {
  const { blocked_words: _, ...config } = value.config;
  const shown = { ...value, config: config as WorldConfig };
  return { value: shown, json: JSON.stringify(shown), version };
}

const updateWorld = endpoint(
  {
    operationId: "updateWorld",
    summary: "Replace fields of a world",
    description:
      "A config without JWT_secrets keeps the current keys; otherwise, the keys are replaced at once. The same applies to JWT_issuers and oidc.",
    tags: ["worlds"],
    params: WorldParams,
    body: ref(WorldChanges),
    response: { 200: ref(World) },
  },
  async (request, reply) => {
    const { store, outbound } = request.server;
    const { world_id } = request.params;
    await checkEvent(request, request.body.config?.event);
    checkAccess(request.body.config?.access);
    checkBlockedWords(request.body.config?.blocked_words);
    const versions = request.expectedVersions();
    const { config = {} } = request.body;
    const faults = await issuerFaults(config, outbound);
    if (Object.keys(faults).length > 0) throw new InvalidData(faults);
    return reply.sendVersioned(
      await store.worlds
        .update(world_id, request.body, versions, authorOf(request))
        .catch(refuseTaken),
    );
  },
);

/** Maximum number of attempts while the world keeps changing concurrently. */
const MAX_TRIES = 5;

const updateSchedule = endpoint(
  {
    operationId: "updateSchedule",
    summary: "Report that the schedule in pretalx has changed",
    description:
      "For the pretalx plugin, compatible with Venueless: clients receive `world.schedule.updated`, and `config.pretalx` records when pretalx connected. A URL other than the one in `config.pretalx` is a 401 with a text.",
    tags: ["worlds"],
    params: WorldParams,
    body: ref(ScheduleUpdate),
    response: { 200: Type.Null({ description: "Clients are notified." }) },
  },
  async (request, reply) => {
    const { worlds } = request.server.store;
    const { world_id } = request.params;
    const { event } = request.body;
    const host = hostOf(request.body.domain);
    const refuse = (text: string) =>
      (reply as FastifyReply).code(401).sendJson(JSON.stringify(text));
    if (host === "" || !event) return refuse("Missing fields in request.");
    let world = request.world;
    for (let tries = 1; world; tries++) {
      const { value, version } = world;
      const present = (value.config.pretalx ?? {}) as Record<string, unknown>;
      if (host !== hostOf(present.domain) || event !== present.event) {
        return refuse("Incorrect domain or event data");
      }
      const pushed = new Date().toISOString();
      const pretalx = { ...present, connected: true, pushed };
      try {
        const changes = { config: { pretalx } };
        const by = authorOf(request);
        await worlds.configure(world_id, changes, [version], by);
        break;
      } catch (error) {
        const isChanged = error instanceof StoreError && error.problem === "changed";
        if (!isChanged || tries === MAX_TRIES) throw error;
        world = await worlds.get(world_id);
      }
    }
    return (reply as FastifyReply).code(200).send();
  },
);

/** Returns a URL's host, without the port, or an empty string if there is no host. */
const hostOf = (address: unknown): string =>
  typeof address === "string" && URL.canParse(address) ? new URL(address).hostname : "";

/** Converts a conflict to a 400. All other routes use 409, but clients of this route expect a 400. */
function refuseTaken(error: unknown): never {
  if (!(error instanceof StoreError && error.problem === "taken")) throw error;
  const { field = "domain" } = error;
  throw new InvalidData({ [field]: ["Another world already has it."] });
}

/** @throws {InvalidData} if an event would close before it opens, or a time does not exist. */
function checkAccess(access: Access | undefined): void {
  const faults = Object.entries((access && accessFaults(access)) ?? {}).map(
    ([field, messages]): [string, string[]] => [`config.access.${field}`, messages],
  );
  if (faults.length > 0) throw new InvalidData(Object.fromEntries(faults));
}

/** @throws {InvalidData} if a word would match nothing, or everything. */
function checkBlockedWords(blocked: BlockedWords | undefined): void {
  const faults = (blocked && blockedWordFaults(blocked, "config.blocked_words")) ?? {};
  if (Object.keys(faults).length > 0) throw new InvalidData(faults);
}

/**
 * Checks the rules for an event's dates and cover that the schema cannot express.
 * @throws {InvalidData} if a rule is violated.
 */
async function checkEvent(request: FastifyRequest, event: EventDates | undefined): Promise<void> {
  if (!event) return;
  const { id, config } = request.world!.value;
  const faults = Object.entries(eventFaults(event) ?? {}).map(
    ([field, messages]): [string, string[]] => [`config.event.${field}`, messages],
  );
  const { url } = event.cover ?? {};
  const present = config.event as EventDates | null | undefined;
  // The current URL may be sent back unchanged, even if the file is gone.
  if (url !== undefined && url !== present?.cover?.url) {
    const key = uploadKey(url, id, hostsOf(request));
    if (key === undefined || !(await request.server.store.files.has(key))) {
      faults.push(["config.event.cover.url", ["Must be the URL of an upload in this world."]]);
    }
  }
  if (faults.length > 0) throw new InvalidData(Object.fromEntries(faults));
}

export default routes;
