import type { FastifyReply, FastifyRequest } from "fastify";
import type { JsonObject } from "../../schemas/openapi/openapi-schema.js";
import { DOCUMENTS } from "../places.js";
import { BuiltFiles, type Coded, codedJson, sendCoded } from "../replies.js";

/** The documents that the build made. */
export const documents = new BuiltFiles(DOCUMENTS);

/** How a server comes by a document of its own. */
interface Making {
  /**
   * Makes it of the one that the build made, of a server with default settings.
   * @returns the same object if that needs no change; undefined if it describes other routes.
   */
  adapt: (built: JsonObject) => JsonObject | undefined;
  /** Makes it without that one. */
  make: () => JsonObject;
}

/** Makes a handler that sends a document of the interface. */
export function documentHandler(name: string, { adapt, make }: Making) {
  let found: Promise<Coded> | undefined;

  async function find(): Promise<Coded> {
    const file = await documents.find(name);
    if (!file) return codedJson(make());
    const built = JSON.parse(String(await file.read(undefined))) as JsonObject;
    const adapted = adapt(built);
    return adapted === built ? file : codedJson(adapted ?? make());
  }

  return async (_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    sendCoded(reply, await (found ??= find()));
}
