import { Type } from "@sinclair/typebox";
import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import type { Versioned } from "../../db/contract/store.js";
import { seenProgram } from "../../db/rules/program-views.js";
import { authorOf } from "../../plugins/auth/guard.js";
import { missingTo } from "../../plugins/http/errors.js";
import { responseRef } from "../../plugins/openapi/parts.js";
import { allowSameId } from "../../plugins/validation.js";
import {
  Speaker,
  SpeakerChanges,
  SpeakerDraft,
  SpeakerList,
  SpeakerMerge,
  SpeakerParams,
} from "../../schemas/program/program.js";
import { PageQuery, ref } from "../../schemas/values.js";
import { WorldParams } from "../../schemas/worlds.js";
import { endpoint } from "../endpoint.js";
import type { ListOrder } from "../pages.js";
import { accepted, hostsOf, jsonPageOf, readerOf } from "./program-access.js";

const SPEAKERS = "/api/v1/worlds/:world_id/speakers/";
const SPEAKER = "/api/v1/worlds/:world_id/speakers/:speaker_id/";

/** The speakers in a world's program. */
const routes: FastifyPluginAsync = async (app) => {
  const answers = { 409: responseRef("Conflict") };
  app.get(SPEAKERS, { config: { requires: ["program.read"] }, ...listSpeakers });
  app.post(SPEAKERS, {
    config: { requires: ["program.update"], versioned: true, answers },
    ...createSpeaker,
  });
  app.get(SPEAKER, { config: { requires: ["program.read"], versioned: true }, ...getSpeaker });
  app.patch(SPEAKER, {
    config: { requires: ["program.update"], versioned: true, answers },
    ...allowSameId("speaker_id"),
    ...updateSpeaker,
  });
  app.post(`${SPEAKER}merge/`, {
    config: { requires: ["program.update"], versioned: true },
    ...mergeSpeaker,
  });
  app.delete(SPEAKER, {
    config: { requires: ["program.update"], versioned: true },
    ...deleteSpeaker,
  });
};

const BY_NAME: ListOrder<Versioned<Speaker>> = {
  name: "speakers",
  types: ["string", "string"],
  placeOf: ({ value: { name, id } }) => [name, id],
};

const listSpeakers = endpoint(
  {
    operationId: "listSpeakers",
    summary: "List the speakers that the caller may see",
    description:
      "Callers without `program.update` see only the speakers of sessions that they may see.",
    tags: ["program"],
    params: WorldParams,
    querystring: PageQuery,
    response: { 200: ref(SpeakerList) },
  },
  async (request, reply) => {
    const speakers = await seen(request, request.params.world_id);
    const page = jsonPageOf(request, request.query, speakers, BY_NAME);
    return reply.sendJson(await page);
  },
);

const createSpeaker = endpoint(
  {
    operationId: "createSpeaker",
    summary: "Make a speaker",
    description:
      "In addition to the schema, refuses unknown pictures and users, an `import_id` that is already taken, and invalid URLs.",
    tags: ["program"],
    params: WorldParams,
    body: ref(SpeakerDraft),
    response: { 201: ref(Speaker) },
  },
  async (request, reply) => {
    const { store } = request.server;
    const { world_id } = request.params;
    // Read the base URL first, because its getter throws if the request names no host.
    const { base } = request;
    const speaker = accepted(
      await store.program.createSpeaker(
        world_id,
        request.body,
        hostsOf(request),
        authorOf(request),
      ),
    );
    const location = `${base}/api/v1/worlds/${world_id}/speakers/${speaker.value.id}/`;
    reply.code(201).header("location", location);
    return reply.sendVersioned(speaker);
  },
);

const getSpeaker = endpoint(
  {
    operationId: "getSpeaker",
    summary: "Get a speaker",
    description: "A speaker that the caller may not see is a 403, like one that does not exist.",
    tags: ["program"],
    params: SpeakerParams,
    response: { 200: ref(Speaker) },
  },
  async (request, reply) => {
    const { world_id, speaker_id } = request.params;
    const speakers = await seen(request, world_id);
    const speaker = speakers.find(({ value }) => value.id === speaker_id);
    if (!speaker) throw missingTo(request, "speaker");
    return reply.sendVersioned(speaker);
  },
);

const updateSpeaker = endpoint(
  {
    operationId: "updateSpeaker",
    summary: "Replace fields of a speaker",
    description:
      "Each field sent replaces the current value. The resulting speaker must follow the rules for new speakers.",
    tags: ["program"],
    params: SpeakerParams,
    body: ref(SpeakerChanges),
    response: { 200: ref(Speaker) },
  },
  async (request, reply) => {
    const { store } = request.server;
    const { world_id, speaker_id } = request.params;
    return reply.sendVersioned(
      accepted(
        await store.program.updateSpeaker(
          world_id,
          speaker_id,
          request.body,
          hostsOf(request),
          request.expectedVersions(),
          authorOf(request),
        ),
      ),
    );
  },
);

const mergeSpeaker = endpoint(
  {
    operationId: "mergeSpeakers",
    summary: "Merge another record of the same person into a speaker",
    description:
      "Moves the other record's sessions to this speaker, fills in missing fields from the other record, and deletes the other record.",
    tags: ["program"],
    params: SpeakerParams,
    body: ref(SpeakerMerge),
    response: { 200: ref(Speaker) },
  },
  async (request, reply) => {
    const { store } = request.server;
    const { world_id, speaker_id } = request.params;
    return reply.sendVersioned(
      await store.program.mergeSpeakers(
        world_id,
        speaker_id,
        request.body.speaker_id,
        request.expectedVersions(),
        authorOf(request),
      ),
    );
  },
);

const deleteSpeaker = endpoint(
  {
    operationId: "deleteSpeaker",
    summary: "Delete a speaker, and remove it from its sessions",
    description: "A request body is ignored, but must be JSON.",
    tags: ["program"],
    params: SpeakerParams,
    response: { 204: Type.Null({ description: "It is deleted." }) },
  },
  async (request, reply) => {
    const { store } = request.server;
    const { world_id, speaker_id } = request.params;
    await store.program.deleteSpeaker(
      world_id,
      speaker_id,
      request.expectedVersions(),
      authorOf(request),
    );
    return reply.code(204).send(null);
  },
);

/** Returns the speakers that the caller may see. */
async function seen(
  request: FastifyRequest,
  world: string,
): Promise<readonly Versioned<Speaker>[]> {
  const program = await request.server.store.program.get(world);
  return seenProgram(program, await readerOf(request, program)).speakers;
}

export default routes;
