import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import type { Config } from "../config.js";
import type { StoredBytes } from "../db/contract/file-store.js";
import { newFileKey } from "../db/rules/file-rows.js";
import { admitAgain, uploader } from "../plugins/auth/uploader.js";
import { clientGone } from "../plugins/http/connections.js";
import { FileRefusal } from "../plugins/http/errors.js";
import { atMost, openForm, peek, takeForms } from "../plugins/upload/form.js";
import { HEAD, ImageCleaner, isOfType, pixelsOf } from "../plugins/upload/images.js";
import { type Counted, QuotaInProgress } from "../plugins/upload/quota-in-progress.js";
import { Upload, UploadForm, UploadQuery } from "../schemas/files.js";
import { extensionOf, fileTypes } from "../schemas/plain/file-types.js";
import { ref } from "../schemas/values.js";

/**
 * How much of a refused body is read and dropped: this many times the largest
 * upload, and at least this many bytes. A client that sends more is disconnected.
 */
const DROPPED_UPLOADS = 16;
const DROPPED_AT_LEAST = 64 * 1024 * 1024;

/** Uploads to a world: `/storage/upload/`. */
const uploads: FastifyPluginAsync<{ config: Config["uploads"] }> = async (app, { config }) => {
  const onRequest = await takeForms(app, {
    perMinute: config.perMinute,
    what: "uploads",
    dropped: Math.max(DROPPED_AT_LEAST, DROPPED_UPLOADS * config.maxBytes),
  });
  const quota = new QuotaInProgress(app.store.files, config.worldMaxBytes);
  const images = new ImageCleaner();
  app.addHook("onClose", async () => images.close());

  app.post(
    "/storage/upload/",
    {
      config: { requires: uploader, slot: "uploads" },
      onRequest,
      schema: {
        operationId: "uploadFile",
        summary: "Upload a file",
        description:
          "Without the parameter `world`, the world is the one whose domain is the host of the request.",
        tags: ["files"],
        consumes: ["multipart/form-data"],
        querystring: UploadQuery,
        body: ref(UploadForm),
        response: { 201: ref(Upload) },
      },
      // The form is read as a stream, and the guard has read the query.
      validatorCompiler: () => () => true,
    },
    async (request, reply) => {
      // This comes first, because it refuses a host that no link can have.
      const { base } = request;
      const counted = await quota.begin(request.world!.value.id);
      const key = await take(request, reply, counted).finally(() => counted.end());
      return reply.code(201).send({ url: `${base}/media/${key}` });
    },
  );

  /**
   * Takes the file of a form.
   * @returns its key.
   */
  async function take(
    request: FastifyRequest,
    reply: FastifyReply,
    counted: Counted,
  ): Promise<string> {
    const gone = clientGone(reply.raw);
    const world = request.world!.value.id;
    const { maxBytes, worldMaxBytes } = config;
    const form = await openForm(request);
    const extension = extensionOf(form.name);
    const bytes = atMost(maxBytes, form.bytes);
    const type = config.types.includes(extension) ? fileTypes[extension] : undefined;
    if (!type) throw await refusedType(bytes);
    const { head, all } = await peek(HEAD, bytes);
    if (head.length === 0) throw new FileRefusal("file.size");
    if (!(await isOfType(type, head))) throw await refusedType(all);

    const key = newFileKey(world, extension);
    const record = async (stored: StoredBytes) => {
      await admitAgain(request, world);
      const file = { key, ...stored };
      await app.store.files.add(world, request.uploader, file, worldMaxBytes);
      counted.recorded(stored.size);
      app.metrics?.uploaded(stored.size);
    };
    const store = (source: AsyncIterable<Uint8Array>) => app.files.put(key, source, record);
    const written = counted.count(all);
    const { image: format } = type;
    if (!format) await store(written);
    else {
      const image = { format, pixels: pixelsOf(format, head), maxBytes };
      await app.files.withScratch(written, (path) =>
        images.clean(world, path, { ...image, box: form.box() }, gone, store),
      );
    }
    return key;
  }
};

/**
 * The refusal of a file of a wrong type. It reads the rest of the form first, which
 * may turn out to be `file.missing`.
 */
async function refusedType(bytes: AsyncIterable<Buffer>): Promise<FileRefusal> {
  try {
    for await (const _ of bytes);
  } catch (error) {
    if (error instanceof FileRefusal && error.code === "file.missing") {
      return error;
    }
  }
  return new FileRefusal("file.type");
}

export default uploads;
