import { randomBytes, randomUUID } from "node:crypto";
import multipart from "@fastify/multipart";
import rateLimit from "@fastify/rate-limit";
import type { FastifyPluginAsync } from "fastify";
import type { Config } from "../config.js";
import { answerError, FileRefusal, Refusal } from "../plugins/errors.js";
import { quiet, Tally, tooMany } from "../plugins/rate-limit.js";
import { atMost, openForm, peek } from "../plugins/upload/form.js";
import { ImageCleaner } from "../plugins/upload/images.js";
import { HEAD, isOfType } from "../plugins/upload/types.js";
import { extensionOf, fileTypes } from "../schemas/file-types.js";
import { Upload, UploadForm } from "../schemas/files.js";
import { ref } from "../schemas/values.js";

/** Files from people in a world: `/storage/upload/`. */
const uploads: FastifyPluginAsync<{ config: Config["uploads"] }> = async (
  app,
  { config },
) => {
  await app.register(multipart);
  // Whatever else is sent is a form without a file, and not another media type.
  app.addContentTypeParser("*", (_request, _body, done) => done(null));
  // Many a client reads the answer only when it has sent everything: so what is
  // left of a refused body is read and dropped, also past a parser that gave up.
  app.addHook("onError", async ({ raw }) => {
    raw.unpipe();
    raw.resume();
  });
  await app.register(rateLimit, {
    global: false,
    store: Tally,
    addHeaders: quiet,
    addHeadersOnExceeding: quiet,
  });

  const images = new ImageCleaner();
  app.addHook("onClose", async () => images.close());

  const limited = app.rateLimit({
    max: config.perMinute,
    timeWindow: "1 minute",
    keyGenerator: ({ world, uploader }) =>
      JSON.stringify([world?.value.id, uploader.tokenId, uploader.clientId]),
    errorResponseBuilder: tooMany("uploads"),
  });

  app.post(
    "/storage/upload/",
    {
      onRequest: [app.admitUploader, limited],
      schema: {
        operationId: "uploadFile",
        summary: "Upload a file",
        description:
          "The world is the one whose domain is the host of the request.",
        tags: ["files"],
        consumes: ["multipart/form-data"],
        body: ref(UploadForm),
        response: { 201: ref(Upload) },
      },
      // The form is read as it comes, and never is a value to be looked at.
      validatorCompiler: () => () => true,
      bodyLimit: Number.MAX_SAFE_INTEGER,
      // A media type that is none is still no form with a file.
      errorHandler: (error, ...rest) =>
        void answerError(
          error.code === "FST_ERR_CTP_INVALID_MEDIA_TYPE"
            ? new FileRefusal("file.missing")
            : error,
          ...rest,
        ),
    },
    async (request, reply) => {
      const { base } = request;
      const world = request.world!.value.id;
      const used = await app.store.files.size(world);
      const form = await openForm(request);
      const extension = extensionOf(form.name);
      const bytes = atMost(
        Math.min(config.maxBytes, config.worldMaxBytes - used),
        form.bytes,
      );
      const type = config.types.includes(extension)
        ? fileTypes[extension]
        : undefined;
      if (!type) throw await refusedType(bytes);
      const { head, all } = await peek(HEAD, bytes);
      if (head.length === 0) throw new FileRefusal("file.size");
      if (!(await isOfType(type, head))) throw await refusedType(all);

      const secret = randomBytes(9).toString("base64url");
      const key = `pub/${world}/${randomUUID()}.${secret}.${extension}`;
      const store = (source: AsyncIterable<Uint8Array>) =>
        app.files.put(key, source, async (stored) => {
          // The body may have taken minutes.
          await app.admitUploader(request, reply);
          if (request.world!.value.id !== world) throw new Refusal(403, "");
          await app.store.files.add(
            world,
            request.uploader,
            { key, ...stored },
            config.worldMaxBytes,
          );
          app.metrics?.uploaded(stored.size);
        });
      const { image } = type;
      await (image
        ? app.files.withScratch(all, (path) => images.clean(path, image, store))
        : store(all));
      return reply.code(201).send({ url: `${base}/media/${key}` });
    },
  );
};

/**
 * What a file of a wrong type is answered with, once it is known that the form
 * holds nothing else.
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
