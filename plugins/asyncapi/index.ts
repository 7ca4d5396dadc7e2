import fp from "fastify-plugin";
import type { JsonObject } from "../../schemas/openapi/openapi-schema.js";
import { version } from "../../schemas/plain/version.js";
import { asyncapiDocument, type Requirements } from "./document.js";

declare module "fastify" {
  interface FastifyInstance {
    /** The websocket as an AsyncAPI 3.0 document. */
    asyncapi(): JsonObject;
  }
}

/** Describes the websocket, for `/api/v1/asyncapi.json` and for the page about it. */
export default fp<{
  publicUrl: string | undefined;
  /** The permission of each command; without it the document leaves permissions out. */
  requirements?: Requirements;
}>(
  async (app, { publicUrl, requirements }) => {
    app.decorate("asyncapi", () => asyncapiDocument({ version, publicUrl, requirements }));
  },
  { name: "asyncapi" },
);
