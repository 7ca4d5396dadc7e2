import type { FastifyInstance } from "fastify";
import { LiveContract } from "../../conformance/contract.js";
import type { JsonObject } from "../../schemas/openapi/openapi-schema.js";
import { closed } from "./rest-contract.js";

export { Conversation, LiveContract } from "../../conformance/contract.js";

/** A contract under which the server sends no field that the document does not name. */
export const strictContract = (document: JsonObject): LiveContract =>
  new LiveContract(closed(document) as JsonObject);

/** By the text of the document: Ajv takes long, and most tests have the same one. */
const compiled = new Map<string, LiveContract>();

/** The contract of an application. */
export function liveContractOf(app: FastifyInstance): LiveContract {
  const document = app.asyncapi();
  const text = JSON.stringify(document);
  const contract = compiled.get(text) ?? strictContract(document);
  compiled.set(text, contract);
  return contract;
}
