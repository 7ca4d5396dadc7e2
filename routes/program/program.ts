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
  ImportChoices,
  ImportedProgram,
  ImportQuery,
  ProgramDraft,
  ScheduleDocument,
  WholeProgram,
} from "../../schemas/program/program-import.js";
import { compileValidator, InvalidData } from "../../schemas/validate.js";
import { ref } from "../../schemas/values.js";
import { WorldParams } from "../../schemas/worlds.js";
import { endpoint } from "../endpoint.js";
import { edits, hostsOf } from "./program-access.js";

const PROGRAM = "/api/v1/worlds/:world_id/program/";

const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/** The accepted media types of documents. The server recognizes all formats except CSV by their content. */
const DOCUMENTS = [
  "application/json",
  "text/csv",
  "text/calendar",
  "text/plain",
  "application/xml",
  "text/xml",
  XLSX,
  "application/octet-stream",
  "multipart/form-data",
];

/** Maximum size of the choices in a form, in bytes. */
const MAX_CHOICES = 1024 * 1024;

const xmlText = { schema: { type: "string" } };

/** A world's whole program. */
const routes: FastifyPluginAsync = async (app) => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>(
    DOCUMENTS,
    { parseAs: "buffer", bodyLimit: MAX_DOCUMENT + MAX_CHOICES },
    async (request: FastifyRequest, body: Buffer) => {
      // Re-check the caller, because receiving the body may have taken minutes.
      await request.admission?.(request);
      return request.mediaType === "multipart/form-data"
        ? receiveForm(body, request.headers["content-type"]!)
        : new Received(body, request.mediaType === "text/csv");
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
        [XLSX]: { schema: { type: "string", format: "binary" } },
        "multipart/form-data": {
          schema: {
            type: "object",
            required: ["document"],
            properties: {
              document: { type: "string", format: "binary" },
              choices: schemaRef(ImportChoices),
            },
          },
        },
      },
    },
    bodyLimit: MAX_DOCUMENT + MAX_CHOICES,
    onRequest: [refuseOtherTypes, requireRooms],
    ...putProgram,
  });
};

/** Wraps a body to hide its bytes from the query validator. */
class Received {
  readonly #bytes: Buffer;

  /** @param isCsv whether the document is a table, by its type. */
  constructor(
    bytes: Buffer,
    readonly isCsv: boolean,
    readonly choices?: ImportChoices,
  ) {
    if (bytes.length > MAX_DOCUMENT) {
      throw new Refusal(413, "A program may have at most 10 MiB.");
    }
    this.#bytes = bytes;
  }

  get bytes(): Buffer {
    return this.#bytes;
  }
}

const checkChoices = compileValidator(ImportChoices);

/**
 * Reads a form with a document and an organizer's choices.
 * @throws {InvalidData} with the field of the fault.
 */
async function receiveForm(body: Buffer, type: string): Promise<Received> {
  let form: Awaited<ReturnType<Response["formData"]>>;
  try {
    form = await new Response(new Uint8Array(body), {
      headers: { "content-type": type },
    }).formData();
  } catch {
    throw new InvalidData({ non_field_errors: ["This is not a form."] });
  }
  const [document, given] = [form.get("document"), form.get("choices")];
  if (!(document instanceof Blob)) {
    throw new InvalidData({ document: ["This field must be a file."] });
  }
  const text = given instanceof Blob ? await given.text() : given;
  const choices = text === null ? undefined : choicesIn(text);
  const isCsv = document.type === "text/csv" || /\.csv$/i.test(document.name ?? "");
  return new Received(Buffer.from(await document.arrayBuffer()), isCsv, choices);
}

function choicesIn(text: string): ImportChoices {
  let choices: unknown;
  try {
    choices = JSON.parse(text.slice(0, MAX_CHOICES + 1));
  } catch {
    throw new InvalidData({ choices: ["This is not valid JSON."] });
  }
  const fault = checkChoices(choices);
  if (fault) throw fault;
  return choices as ImportChoices;
}

/** Rejects media types other than {@link DOCUMENTS} before the body is read. */
async function refuseOtherTypes({ mediaType }: FastifyRequest): Promise<void> {
  if (mediaType !== undefined && DOCUMENTS.includes(mediaType)) return;
  throw new Refusal(415, `Send one of ${DOCUMENTS.join(", ")}.`);
}

/** Rejects `create_rooms` from a caller who may not create rooms, before the body is read. */
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

/** Returns the URL of the event page. */
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
    // Calendars of the same version differ in their creation time, so their tag is weak.
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
    summary: "Update the program to match a document",
    description:
      "Recognizes the format by the content; a table must have the type text/csv. Imports the whole document or nothing.",
    tags: ["program"],
    params: WorldParams,
    querystring: ImportQuery,
    response: { 200: ref(ImportedProgram) },
  },
  async (request, reply) => {
    const { server, query } = request;
    const versions = request.expectedVersions();
    const { bytes, isCsv, choices } = request.body as Received;
    const lists = query.preview === "true";
    return server.programs.import(
      request.world!.value,
      { bytes, isCsv, hosts: hostsOf(request) },
      {
        createRooms: query.create_rooms === "true",
        removeMissing: query.remove_missing === "true",
        dryRun: lists || query.dry_run === "true",
        lists,
        keepEdits: query.keep_edits === "true",
        choices,
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
