import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import { StoreError, type StoreProblem } from "../../db/store.js";
import type { Problem, ProblemCode } from "../../schemas/errors.js";
import { InvalidData } from "../../schemas/validate.js";
import { Stackless } from "../stackless.js";

/** The code of a problem by its status; any other 4xx is `invalid_request`. */
const codes: Record<number, ProblemCode> = {
  401: "unauthenticated",
  403: "forbidden",
  404: "not_found",
  405: "method_not_allowed",
  412: "changed",
  413: "too_large",
  415: "unsupported_media_type",
  429: "rate_limited",
  500: "fault",
  503: "unavailable",
};

/**
 * The body of an error answer.
 * @param code for programs; by default that of the status.
 */
export const problemOf = (
  status: number,
  detail: string,
  code: ProblemCode = codes[status] ?? "invalid_request",
): Problem => ({ detail, code });

/** Ends a request with a status, a sentence, and a code for programs. */
export class Refusal extends Stackless {
  /**
   * @param statusCode of the answer.
   * @param detail a sentence for the client; with an empty one the answer has no body.
   * @param headers of the answer.
   * @param code for programs; by default that of the status.
   */
  constructor(
    readonly statusCode: number,
    detail: string,
    readonly headers: Record<string, string> = {},
    readonly code?: ProblemCode,
  ) {
    super(detail);
  }
}

/** JSON that does not parse. */
export const invalidJson = (detail: string) =>
  new Refusal(400, detail, {}, "invalid_json");

/** The caller is not authenticated: 401. */
export const unauthenticated = (detail: string) =>
  new Refusal(401, detail, { "www-authenticate": "Bearer" });

/** A refused upload, with one of the reasons of the interface. */
export class FileRefusal extends Error {
  readonly statusCode = 400;

  constructor(readonly code: "file.missing" | "file.type" | "file.size") {
    super(code);
  }
}

/** A missing thing and a forbidden one get the same answer, to the byte. */
export const forbidden = () =>
  new Refusal(403, "You do not have permission to perform this action.");

const unavailable = (detail: string, seconds: number) =>
  new Refusal(503, detail, { "retry-after": String(seconds) });

const storeRefusals: Record<
  StoreProblem,
  (error: StoreError) => Refusal | InvalidData | FileRefusal
> = {
  absent: forbidden,
  changed: () =>
    new Refusal(412, "It was changed in between. Get it again, and try again."),
  taken: ({ field = "id" }) =>
    new InvalidData({ [field]: ["Another world has it already."] }),
  busy: () => unavailable("The database is busy. Try again soon.", 1),
  large: () =>
    new InvalidData({
      page_size: ["The page would be too large. Ask for fewer."],
    }),
  denied: () => new Refusal(403, ""),
  quota: () => new FileRefusal("file.size"),
  doubtful: () =>
    unavailable("The disk failed. Look whether it was done, and try again.", 5),
  full: () => unavailable("There is no room on the disk. Try again later.", 60),
  unusable: () => unavailable("The database cannot be used right now.", 5),
};

/** Fastify's own errors in the words of this service. */
const sentences: Record<string, string> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE:
    "The body must be JSON, sent with Content-Type: application/json.",
  FST_ERR_CTP_BODY_TOO_LARGE: "The body is too large.",
  FST_ERR_CTP_INVALID_CONTENT_LENGTH:
    "The body has another length than its Content-Length.",
  FST_ERR_BAD_URL: "The path is not a valid URL.",
};

/** Fastify's own errors about JSON that does not parse. */
const jsonFaults: Record<string, string> = {
  FST_ERR_CTP_EMPTY_JSON_BODY: "The body is empty, and JSON was expected.",
  FST_ERR_CTP_INVALID_JSON_BODY:
    "The body is not valid JSON, or has a name in it that no object may have (__proto__).",
};

/** What the client is told; undefined for a fault of the server itself. */
function refusalOf(
  error: FastifyError,
): Refusal | InvalidData | FileRefusal | undefined {
  if (
    error instanceof Refusal ||
    error instanceof InvalidData ||
    error instanceof FileRefusal
  ) {
    return error;
  }
  if (error instanceof StoreError) return storeRefusals[error.problem](error);
  // A 416 says in its headers how long the file is.
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

/**
 * Adds the headers that every answer carries: the id that finds it in the log,
 * and the one that keeps a browser from guessing another type.
 */
function stamp(request: FastifyRequest, reply: FastifyReply): void {
  reply
    .header("x-request-id", request.id)
    .header("x-content-type-options", "nosniff");
}

/** Answers a failed request. Every error gets its shape here. */
export function answerError(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const refusal = refusalOf(error);
  const status = refusal?.statusCode ?? 500;
  // A refusal is intended. Under load, a line for each would add load.
  if (status >= 500 && error !== refusal) {
    request.log.error({ reqId: request.id, err: error }, "request failed");
  }
  stamp(request, reply);
  reply.code(status);
  // They describe the answer that failed.
  reply.removeHeader("content-type");
  reply.removeHeader("content-security-policy");
  if (refusal instanceof InvalidData) return reply.send(refusal.faults);
  if (refusal instanceof FileRefusal)
    return reply.send({ error: refusal.code });
  if (refusal) reply.headers(refusal.headers);
  if (refusal?.message === "") return reply.send();
  return reply.send(
    problemOf(
      status,
      refusal?.message ?? "Internal server error.",
      refusal?.code,
    ),
  );
}

/** Gives every error its shape, and every answer its headers. */
export default fp(
  async (app) => {
    app.setErrorHandler(answerError);
    app.setNotFoundHandler(() => {
      throw new Refusal(404, "Not found.");
    });

    app.addHook("onRequest", function addHeaders(request, reply, done) {
      stamp(request, reply);
      done();
    });
  },
  { name: "errors" },
);
