import { Readable } from "node:stream";
import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import type { Config } from "../../config.js";
import { newFileKey } from "../../db/rules/file-rows.js";
import { readmit, programUploader } from "../../plugins/auth/uploader.js";
import { clientGone } from "../../plugins/http/connections.js";
import { responseRef } from "../../plugins/openapi/parts.js";
import { FileRefusal } from "../../plugins/http/errors.js";
import { atMost, openForm, acceptForms } from "../../plugins/upload/form.js";
import { MAX_DOCUMENT } from "../../schemas/plain/program.js";
import { extensionOf, programTypes } from "../../schemas/plain/file-types.js";
import { Upload, UploadForm, UploadQuery } from "../../schemas/files.js";
import { may, SEE } from "../../schemas/plain/permissions.js";
import { ref } from "../../schemas/values.js";
import { hostsOf } from "./program-access.js";

/** Number of bytes of a refused body to read and discard. */
const DROPPED = 4 * MAX_DOCUMENT;

/**
 * The import endpoint for Venueless clients, `/storage/schedule_import/`, which receives a program
 * as a file in a form. The file is stored as well, because these clients expect the file's URL.
 */
const scheduleImport: FastifyPluginAsync<{
  config: Config["uploads"];
}> = async (app, { config }) => {
  const onRequest = await acceptForms(app, {
    perMinute: config.perMinute,
    what: "imports",
    dropped: DROPPED,
  });

  app.post(
    "/storage/schedule_import/",
    {
      config: {
        requires: programUploader,
        holdsLargeBody: true,
        answers: { 400: responseRef("InvalidProgram") },
      },
      onRequest,
      schema: {
        operationId: "uploadProgram",
        summary: "Import a program from a form",
        description:
          "Like `PUT /api/v1/worlds/{world_id}/program/`, for clients of Venueless. The file name must end in json, xml, ics or csv. The response contains the URL of the stored document.",
        tags: ["program"],
        consumes: ["multipart/form-data"],
        querystring: UploadQuery,
        body: ref(UploadForm),
        response: { 201: ref(Upload) },
      },
      // The form is read as a stream, and the guard has already read the query.
      validatorCompiler: () => () => true,
    },
    async (request, reply) => {
      const { base } = request;
      const document = await receive(request);
      const gone = clientGone(reply.raw);
      const key = await importDocument(request, document, gone, config);
      return reply.code(201).send({ url: `${base}/media/${key}` });
    },
  );
};

/** A document. Its file extension distinguishes CSV from all other formats. */
interface Received {
  readonly extension: string;
  readonly bytes: Buffer;
}

/**
 * Reads the document from a form.
 * @throws {FileRefusal} in the same cases as uploads.
 */
async function receive(request: FastifyRequest): Promise<Received> {
  const form = await openForm(request);
  const chunks: Buffer[] = [];
  for await (const chunk of atMost(MAX_DOCUMENT, form.bytes)) {
    chunks.push(chunk);
  }
  const extension = extensionOf(form.name);
  if (!(extension in programTypes)) throw new FileRefusal("file.type");
  const bytes = Buffer.concat(chunks);
  if (bytes.length === 0) throw new FileRefusal("file.size");
  return { extension, bytes };
}

/**
 * Stores and imports a document: both or neither.
 * @returns the stored file's key.
 */
async function importDocument(
  request: FastifyRequest,
  { extension, bytes }: Received,
  gone: AbortSignal,
  { worldMaxBytes: quota }: Config["uploads"],
): Promise<string> {
  const { server, uploader } = request;
  const { files, store } = server;
  const { value: world } = request.world!;
  const key = newFileKey(world.id, extension);
  const user = await store.users.find(world.id, uploader);
  const place = { world };
  await server.programs.import(
    world,
    { bytes, isCsv: extension === "csv", hosts: hostsOf(request) },
    {},
    {
      rights: { edits: true, sees: (room) => may(uploader, SEE, { ...place, room }) },
      // Receiving and parsing the body may have taken a long time, so the uploader's rights are
      // re-checked.
      admit: () => readmit(request, world.id),
      gone,
      save: (write) =>
        files.put(key, Readable.from([bytes]), async (stored) => {
          const digest = { key, ...stored };
          await (write({ visitor: uploader, digest, quota }) ??
            store.files.add(world.id, uploader, digest, quota));
        }),
    },
    { kind: "user", ...(user && { user: user.id }) },
  );
  return key;
}

export default scheduleImport;
