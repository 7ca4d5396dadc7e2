import type { FastifyPluginAsync } from "fastify";
import { serversOf } from "../../plugins/asyncapi/asyncapi-document.js";
import { documentHandler } from "../../plugins/docs/docs.js";
import { headerRefs, responseRef } from "../../plugins/openapi/parts.js";

/** Serves the AsyncAPI document, which describes the websocket and the change feed. */
const asyncapi: FastifyPluginAsync<{ publicUrl: string | undefined }> = async (
  app,
  { publicUrl },
) => {
  app.get(
    "/api/v1/asyncapi.json",
    {
      config: {
        requires: "public",
        answers: {
          200: {
            description: "An AsyncAPI document.",
            headers: headerRefs("ETag", "Cache-Control"),
            content: { "application/json": { schema: { type: "object" } } },
          },
          304: responseRef("NotModified"),
        },
      },
      schema: {
        operationId: "getAsyncapi",
        summary: "Get the description of the websocket",
        description:
          "The websocket at `/ws/world/{world_id}/`: every command, push and error. The entries of the change feed are in it, too.",
        tags: ["server"],
      },
    },
    documentHandler("asyncapi.json", {
      adapt: (built) =>
        publicUrl === undefined ? built : { ...built, servers: serversOf(publicUrl) },
      make: () => app.asyncapi(),
    }),
  );
};

export default asyncapi;
