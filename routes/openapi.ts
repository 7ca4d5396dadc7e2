import type { FastifyPluginAsync } from "fastify";
import { headerRefs } from "../plugins/openapi/parts.js";

/** The interface, for programs. */
const openapi: FastifyPluginAsync = async (app) => {
  let document: string | undefined;

  app.get(
    "/api/v1/openapi.json",
    {
      config: {
        requires: "public",
        answers: {
          200: {
            description: "This document.",
            headers: headerRefs(),
            content: { "application/json": { schema: { type: "object" } } },
          },
        },
      },
      schema: {
        operationId: "getOpenapi",
        summary: "Get this document",
        tags: ["server"],
      },
    },
    async (_, reply) => {
      document ??= JSON.stringify(app.openapi());
      return reply.type("application/json; charset=utf-8").send(document);
    },
  );
};

export default openapi;
