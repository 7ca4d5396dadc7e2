import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import { headerRefs, responseRef } from "../plugins/openapi/parts.js";
import { Refusal } from "../plugins/http/errors.js";
import { fileTypes, previewKeyOf, programTypes, typeOf } from "../schemas/plain/file-types.js";
import { MediaParams, MediaQuery } from "../schemas/files.js";

/** Patterns for the names of uploads. A name that does not match is never looked up on disk. */
const WORLD = /^[a-z0-9][a-z0-9-]{0,49}$/;
const NAME = /^[0-9a-f-]{36}\.[\w-]{12}\.[a-z0-9]{3,4}$/;

const bytes = {
  headers: {
    ...headerRefs("ETag", "Cache-Control"),
    "Accept-Ranges": { schema: { type: "string", const: "bytes" } },
    "Content-Range": { schema: { type: "string" } },
    "Content-Security-Policy": { schema: { type: "string" } },
    "Last-Modified": { schema: { type: "string" } },
  },
  content: Object.fromEntries(
    Object.values({ ...fileTypes, ...programTypes }).map(({ mime }) => [
      mime.split(";")[0]!,
      { schema: { type: "string", format: "binary" } },
    ]),
  ),
};
const { headers } = bytes;
const mediaAnswers = {
  200: { description: "The file.", ...bytes },
  206: { description: "The requested range of the file.", ...bytes },
  302: {
    description:
      "The file is in a bucket (`S3_REDIRECT=on`), and temporarily available at this URL.",
    headers: headerRefs("Location", "Cache-Control"),
  },
  304: { description: "The client already has the current version.", headers },
  404: responseRef("NotFound"),
  412: { description: "The file does not match the condition in the request.", headers },
  416: { description: "The range is outside the file.", headers },
};

/** Serves uploaded files at `/media/pub/…` to everyone who has the link. */
const media: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    "/media/pub/:world/:name",
    {
      config: { requires: "public", answers: mediaAnswers },
      schema: {
        operationId: "getFile",
        summary: "Get an uploaded file",
        description:
          "Supports ranges, `HEAD` and conditional requests. The URL cannot be guessed, and requires no credentials.",
        tags: ["files"],
        params: MediaParams,
        querystring: MediaQuery,
      },
    },
    async (request, reply) => {
      const { world, name } = request.params;
      const type = typeOf(name);
      if (!type || !WORLD.test(world) || !NAME.test(name)) {
        throw new Refusal(404, "Not found.");
      }
      reply.headers({
        // SVG and PDF files are documents on the world's domain, so they must not run scripts or
        // load anything.
        "content-security-policy":
          "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; media-src 'self'; sandbox",
      });
      const key = `pub/${world}/${name}`;
      const isSmall = type.image !== undefined && request.query.preview !== undefined;
      return reply.sendStored(key, isSmall ? previewKeyOf(key) : undefined);
    },
  );
};

export default media;
