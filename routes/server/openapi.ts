import type { FastifyPluginAsync } from "fastify";
import { documentHandler } from "../../plugins/docs/docs.js";
import { serversOf } from "../../plugins/openapi/openapi-document.js";
import { headerRefs, responseRef } from "../../plugins/openapi/parts.js";

/** Serves the OpenAPI document, which describes the REST API. */
const openapi: FastifyPluginAsync<{ publicUrl: string | undefined }> = async (
  app,
  { publicUrl },
) => {
  app.get(
    "/api/v1/openapi.json",
    {
      config: {
        requires: "public",
        answers: {
          200: {
            description: "This document.",
            headers: headerRefs("ETag", "Cache-Control"),
            content: { "application/json": { schema: { type: "object" } } },
          },
          304: responseRef("NotModified"),
        },
      },
      schema: {
        operationId: "getOpenapi",
        summary: "Get this document",
        description:
          "Includes the routes of a program that embeds the server, if they have an `operationId`.",
        tags: ["server"],
      },
    },
    documentHandler("openapi.json", {
      adapt(built) {
        // A program that embeds Foyer may have added routes.
        if (!app.isOpenapi(built)) return undefined;
        if (publicUrl === undefined) return built;
        return { ...built, servers: serversOf(publicUrl) };
      },
      make: () => app.openapi(),
    }),
  );
};

export default openapi;
