import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import type { FastifySchemaValidationError } from "fastify/types/schema.js";
import fp from "fastify-plugin";
import { StoreError, type StoreProblem } from "../../db/contract/store.js";
import { FaultList, InvalidData, pathOf, REQUIRED, UNKNOWN } from "../../schemas/validate.js";
import { Conflict, FileRefusal, invalidJson, missingTo, problemOf, Refusal } from "./errors.js";
import { stamp } from "./protocol.js";

const unavailable = (detail: string, seconds: number) =>
  new Refusal(503, detail, { "retry-after": String(seconds) });

const storeRefusals: Record<
  StoreProblem,
  (error: StoreError, request: FastifyRequest) => Refusal | InvalidData | FileRefusal
> = {
  absent: ({ field = "thing" }, request) => missingTo(request, field),
  changed: () => new Refusal(412, "It has been changed since. Fetch it again and retry."),
  taken: ({ field = "id" }) => new Conflict({ [field]: ["Another world already has it."] }),
  busy: () => unavailable("The database is busy. Try again soon.", 1),
  large: () => new InvalidData({ page_size: ["The page would be too large. Request fewer."] }),
  denied: () => new Refusal(403, ""),
  quota: () => new FileRefusal("file.size"),
  doubtful: () =>
    unavailable("It is unknown whether this was done. Check, and retry if it was not.", 5),
  unfit: ({ message }) => new Refusal(400, message),
  full: () => unavailable("The disk is full. Try again later.", 60),
  unusable: () => unavailable("The storage cannot be used right now.", 5),
};

/** Messages that replace Fastify's own error messages. */
const sentences: Record<string, string> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE:
    "The body must be JSON, sent with Content-Type: application/json.",
  FST_ERR_CTP_BODY_TOO_LARGE: "The body is too large.",
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: "The body's length differs from its Content-Length.",
  FST_ERR_BAD_URL: "The path is not a valid URL.",
};

/** Messages for Fastify's errors about invalid JSON. */
const jsonFaults: Record<string, string> = {
  FST_ERR_CTP_EMPTY_JSON_BODY: "The body is empty, but JSON was expected.",
  FST_ERR_CTP_INVALID_JSON_BODY:
    "The body is not valid JSON, or contains a forbidden name (__proto__).",
};

/** Groups Ajv's errors by field. */
function faultsOf(found: readonly FastifySchemaValidationError[]): Record<string, string[]> {
  const faults = new FaultList();
  for (const { instancePath, keyword, params, message = "is invalid" } of found) {
    const path = pathOf(instancePath);
    const { missingProperty, additionalProperty } = params as Record<string, string>;
    if (keyword === "required") faults.add([...path, missingProperty!], REQUIRED);
    else if (keyword === "additionalProperties")
      faults.add([...path, additionalProperty!], UNKNOWN);
    else faults.add(path, `${message.charAt(0).toUpperCase()}${message.slice(1)}.`);
  }
  return faults.toFaults();
}

/** Converts an error to a refusal for the client, or returns undefined for a server fault. */
function refusalOf(
  error: FastifyError,
  request: FastifyRequest,
): Refusal | InvalidData | FileRefusal | undefined {
  if (error instanceof Refusal || error instanceof InvalidData || error instanceof FileRefusal) {
    return error;
  }
  if (error instanceof StoreError) {
    return storeRefusals[error.problem](error, request);
  }
  if (error.validation && error.statusCode === 400)
    return new InvalidData(faultsOf(error.validation));
  // For a 416, the headers contain the file's length.
  const {
    statusCode = 500,
    code,
    message,
    headers,
  } = error as FastifyError & {
    headers?: Record<string, string>;
  };
  if (statusCode >= 500) return undefined;
  const jsonFault = jsonFaults[code];
  if (jsonFault !== undefined) return invalidJson(jsonFault);
  return new Refusal(statusCode, sentences[code] ?? message, headers);
}

/** Responds to a failed request with an error in the common format. */
export function answerError(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const refusal = refusalOf(error, request);
  const status = refusal?.statusCode ?? 500;
  // Refusals are intended, and logging each refusal would add to the load on an overloaded server.
  // A search fails with `busy` if the client disconnects while the search is queued.
  const isIntended =
    error === refusal ||
    (reply.raw.destroyed && error instanceof StoreError && error.problem === "busy");
  if (status >= 500 && !isIntended) {
    // The request's own logger may already include the id.
    request.server.log.error({ reqId: request.id, err: error }, "request failed");
  }
  stamp(request, reply);
  reply.code(status);
  // These headers describe the response that failed.
  reply.removeHeader("content-type");
  reply.removeHeader("content-security-policy");
  if (refusal instanceof InvalidData) return reply.send(refusal.faults);
  if (refusal instanceof FileRefusal) return reply.send({ error: refusal.code });
  if (refusal) reply.headers(refusal.headers);
  if (refusal?.message === "") return reply.send();
  return reply.send({
    ...problemOf(status, refusal?.message ?? "Internal server error.", refusal?.code),
    ...(refusal instanceof Conflict && { fields: refusal.fields }),
  });
}

/** Sets the handlers that format error responses. */
export default fp(
  async (app) => {
    app.setErrorHandler(answerError);
    app.setNotFoundHandler(() => {
      throw new Refusal(404, "Not found.");
    });
  },
  { name: "errors" },
);
