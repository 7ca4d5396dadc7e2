import type { Problem, ProblemCode } from "../../schemas/errors.js";
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
 * @param code for programs; by default the code of the status.
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
   * @param code for programs; by default the code of the status.
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
