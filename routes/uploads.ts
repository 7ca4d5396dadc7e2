import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import type { Config } from "../config.js";
import type { StoredBytes } from "../db/contract/file-store.js";
import type { FileDigest } from "../db/contract/store.js";
import { newFileKey } from "../db/rules/file-rows.js";
import { readmit, uploader } from "../plugins/auth/uploader.js";
import { clientGone } from "../plugins/http/connections.js";
import { FileRefusal } from "../plugins/http/errors.js";
import { atMost, openForm, peek, acceptForms } from "../plugins/upload/form.js";
import { HEAD, ImageCleaner, isOfType, pixelsOf } from "../plugins/upload/images.js";
import { type Counted, QuotaInProgress } from "../plugins/upload/quota-in-progress.js";
import { Upload, UploadForm, UploadQuery } from "../schemas/files.js";
import { extensionOf, fileTypes, previewKeyOf } from "../schemas/plain/file-types.js";
import { ref } from "../schemas/values.js";

/**
 * How many bytes of a refused body to read and discard: a multiple of the largest upload, but at
 * least `DROPPED_AT_LEAST`. A client that sends more bytes is disconnected.
 */
const DROPPED_UPLOADS = 16;
const DROPPED_AT_LEAST = 64 * 1024 * 1024;

/** Uploads to a world: `/storage/upload/`. */
const uploads: FastifyPluginAsync<{ config: Config["uploads"] }> = async (app, { config }) => {
  const onRequest = await acceptForms(app, {
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
      // The form is read as a stream, and the guard has already read the query.
      validatorCompiler: () => () => true,
    },
    async (request, reply) => {
      // Read the base URL first, because its getter rejects a host that cannot be used in links.
      const { base } = request;
      const counted = await quota.begin(request.world!.value.id);
      const key = await take(request, reply, counted).finally(() => counted.end());
      return reply.code(201).send({ url: `${base}/media/${key}` });
    },
  );

  /**
   * Stores the file from a form.
   * @returns the file's key.
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
    const record = async (stored: StoredBytes, preview?: FileDigest) => {
      await readmit(request, world);
      const file = { key, ...stored };
      await app.store.files.add(world, request.uploader, file, worldMaxBytes, preview);
      const size = stored.size + (preview?.size ?? 0);
      counted.recorded(size);
      app.metrics?.uploaded(size);
    };
    const written = counted.count(all);
    const { image: format } = type;
    if (!format) await app.files.put(key, written, record);
    else {
      const image = { format, pixels: pixelsOf(format, head), maxBytes };
      await app.files.withScratch(written, (path) =>
        images.clean(world, path, { ...image, box: form.box() }, gone, ({ bytes, preview }) => {
          if (!preview) return app.files.put(key, bytes, record);
          const previewKey = previewKeyOf(key);
          // Both are in place before either is recorded.
          return app.files.put(previewKey, preview, (small) =>
            app.files.put(key, bytes, (stored) => record(stored, { key: previewKey, ...small })),
          );
        }),
      );
    }
    return key;
  }
};

/**
 * Returns the refusal for a file of the wrong type. First reads the rest of the form: if the form
 * turns out to be malformed, `file.missing` takes precedence.
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
