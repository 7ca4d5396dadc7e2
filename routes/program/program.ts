import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import { authorOf } from "../../plugins/auth/guard.js";
import { clientGone } from "../../plugins/http/connections.js";
import { forbidden, Refusal } from "../../plugins/http/errors.js";
import { headerRefs, schemaRef } from "../../plugins/openapi/parts.js";
import type { ProgramRights } from "../../plugins/program/programs.js";
import { hasVersion } from "../../plugins/replies.js";
import { may, SEE } from "../../schemas/plain/permissions.js";
import { MAX_DOCUMENT } from "../../schemas/plain/program.js";
import {
  ExportQuery,
  ImportedProgram,
  ImportQuery,
  ProgramDraft,
  ScheduleDocument,
  WholeProgram,
} from "../../schemas/program/program-import.js";
import { ref } from "../../schemas/values.js";
import { WorldParams } from "../../schemas/worlds.js";
import { endpoint } from "../endpoint.js";
import { edits, hostsOf } from "./program-access.js";

const PROGRAM = "/api/v1/worlds/:world_id/program/";

/** The media types of documents. The server recognizes all but tables by their content. */
const DOCUMENTS = [
  "application/json",
  "text/csv",
  "text/calendar",
  "text/plain",
  "application/xml",
  "text/xml",
  "application/octet-stream",
];

const xmlText = { schema: { type: "string" } };

/** The program of a world as a whole. */
const routes: FastifyPluginAsync = async (app) => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>(
    DOCUMENTS,
    { parseAs: "buffer", bodyLimit: MAX_DOCUMENT },
    async (request: FastifyRequest, body: Buffer) => {
      // The body may have taken minutes.
      await request.admission?.(request);
      return new Received(body);
    },
  );
  app.get(PROGRAM, {
    config: {
      requires: ["program.read"],
      versioned: true,
      answers: {
        200: {
          description: "The program as the caller may see it.",
          headers: headerRefs("ETag", "Cache-Control"),
          content: {
            "application/json": {
              schema: { anyOf: [schemaRef(WholeProgram), schemaRef(ScheduleDocument)] },
            },
            "text/calendar": { schema: { type: "string" } },
          },
        },
      },
    },
    ...getProgram,
  });
  app.put(PROGRAM, {
    config: {
      requires: ["program.update"],
      conditional: true,
      holdsLargeBody: true,
      receives: {
        "application/json": {
          schema: { anyOf: [schemaRef(ProgramDraft), schemaRef(ScheduleDocument)] },
        },
        "application/xml": xmlText,
        "text/calendar": { schema: { type: "string" } },
        "text/csv": { schema: { type: "string" } },
      },
    },
    bodyLimit: MAX_DOCUMENT,
    onRequest: [refuseOtherTypes, requireRooms],
    ...putProgram,
  });
};

/** A body. The validator of queries sees no bytes in it. */
class Received {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get bytes(): Buffer {
    return this.#bytes;
  }
}

/** Refuses other media types before the body is read. */
async function refuseOtherTypes({ mediaType }: FastifyRequest): Promise<void> {
  if (mediaType !== undefined && DOCUMENTS.includes(mediaType)) return;
  throw new Refusal(415, `Send one of ${DOCUMENTS.join(", ")}.`);
}

/** Refuses to make rooms for a caller who may not, before the body is read. */
async function requireRooms(request: FastifyRequest): Promise<void> {
  const { create_rooms } = request.query as ImportQuery;
  if (create_rooms !== "true") return;
  const place = { world: request.world!.value };
  if (!may(request.caller, ["room.create"], place)) throw forbidden();
}

const rightsOf = (request: FastifyRequest): ProgramRights => {
  const { caller, world } = request;
  const place = { world: world!.value };
  return { edits: edits(request), sees: (room) => may(caller, SEE, { ...place, room }) };
};

/** The address of the event page. */
const pageOf = ({ base, world }: FastifyRequest): string => `${base}/w/${world!.value.id}`;

const getProgram = endpoint(
  {
    operationId: "getProgram",
    summary: "Get the whole program",
    description: "As Foyer's own JSON, as the schedule.json of pretalx, or as a calendar.",
    tags: ["program"],
    params: WorldParams,
    querystring: ExportQuery,
  },
  async (request, reply) => {
    const { server } = request;
    const { format = "json" } = request.query;
    const world = request.world!.value;
    const rights = rightsOf(request);
    const page = pageOf(request);
    const found = await server.programs.export(world, rights, format, page);
    const tag = `"${found.version}"`;
    // Calendars of one version differ in the time when they were written.
    reply.header("etag", format === "ics" ? `W/${tag}` : tag);
    if (hasVersion(request, tag)) return reply.code(304).send();
    const type = format === "ics" ? "text/calendar" : "application/json";
    reply.header("content-type", `${type}; charset=utf-8`);
    return reply.send(await found.bytes(clientGone(reply.raw)));
  },
);

const putProgram = endpoint(
  {
    operationId: "importProgram",
    summary: "Make the program agree with a document",
    description:
      "The content tells the formats apart; a table must have the type text/csv. All or nothing: a document that cannot be read changes nothing.",
    tags: ["program"],
    params: WorldParams,
    querystring: ImportQuery,
    response: { 200: ref(ImportedProgram) },
  },
  async (request, reply) => {
    const { server, query } = request;
    const versions = request.expectedVersions();
    const { bytes } = request.body as Received;
    return server.programs.import(
      request.world!.value,
      { bytes, isCsv: request.mediaType === "text/csv", hosts: hostsOf(request) },
      {
        createRooms: query.create_rooms === "true",
        removeMissing: query.remove_missing === "true",
        dryRun: query.dry_run === "true",
      },
      {
        rights: rightsOf(request),
        async admit() {
          await request.admission!(request);
          await requireRooms(request);
        },
        gone: clientGone(reply.raw),
        expected: versions && { versions, page: pageOf(request) },
      },
      authorOf(request),
    );
  },
);

export default routes;
