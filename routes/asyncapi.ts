import type { FastifyPluginAsync } from "fastify";
import { headerRefs } from "../plugins/openapi/parts.js";

/** The websocket, for programs. */
const asyncapi: FastifyPluginAsync = async (app) => {
  let document: string | undefined;

  app.get(
    "/api/v1/asyncapi.json",
    {
      config: {
        requires: "public",
        answers: {
          200: {
            description: "An AsyncAPI document.",
            headers: headerRefs(),
            content: { "application/json": { schema: { type: "object" } } },
          },
        },
      },
      schema: {
        operationId: "getAsyncapi",
        summary: "Get the description of the websocket",
        tags: ["server"],
      },
    },
    async (_, reply) => {
      document ??= JSON.stringify(app.asyncapi());
      return reply.type("application/json; charset=utf-8").send(document);
    },
  );
};

export default asyncapi;
