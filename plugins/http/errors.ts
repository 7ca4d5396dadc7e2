import type { FastifyRequest } from "fastify";
import { isKeptOut, type UserRecord } from "../../db/contract/store.js";
import type { Faults, Problem, ProblemCode } from "../../schemas/errors.js";
import { isWithheld, may } from "../../schemas/plain/permissions.js";
import type { World } from "../../schemas/worlds.js";
import type { Identity } from "../auth/identity.js";
import { Stackless } from "../stackless.js";

/** The problem code for each status. Any other 4xx status has the code `invalid_request`. */
const codes: Record<number, ProblemCode> = {
  401: "unauthenticated",
  403: "forbidden",
  404: "not_found",
  409: "conflict",
  405: "method_not_allowed",
  412: "changed",
  413: "too_large",
  415: "unsupported_media_type",
  429: "rate_limited",
  500: "fault",
  503: "unavailable",
};

/**
 * Builds the body of an error response. The error text is given where the request is refused.
 * @param code machine-readable; defaults to the code for the status.
 */
export const problemOf = (
  status: number,
  detail: string,
  code: ProblemCode = codes[status] ?? "invalid_request",
): Problem => ({ detail, code });

/** Rejects a request with a status, a sentence for the client, and a machine-readable code. */
export class Refusal extends Stackless {
  /**
   * @param statusCode the response's status.
   * @param detail a sentence for the client; if empty, the response has no body.
   * @param headers the response headers to add.
   * @param code machine-readable; defaults to the code for the status.
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

/** Rejects values that are already in use, by field: 409. */
export class Conflict extends Refusal {
  constructor(readonly fields: Faults) {
    super(409, Object.values(fields).flat().join(" "), {}, "conflict");
  }
}

/** Builds the refusal for a world that has reached a quota: 409. */
export const beyondQuota = (detail: string) => new Refusal(409, detail, {}, "quota");

/** Builds the refusal for a body that is not valid JSON: 400. */
export const invalidJson = (detail: string) => new Refusal(400, detail, {}, "invalid_json");

/** Builds the refusal for a caller who is not authenticated: 401. */
export const unauthenticated = (detail: string) =>
  new Refusal(401, detail, { "www-authenticate": "Bearer" });

/** A rejected upload, with one of the documented reasons. */
export class FileRefusal extends Error {
  readonly statusCode = 400;

  constructor(readonly code: "file.missing" | "file.type" | "file.size") {
    super(code);
  }
}

/**
 * Builds the refusal for a caller who lacks permission: 403. Missing and forbidden resources get
 * identical responses, except for callers who may know what exists (see {@link missing}).
 */
export const forbidden = () =>
  new Refusal(403, "You do not have permission to perform this action.");

/** The facts that determine which information a caller may receive. */
interface Caller {
  readonly identity: Pick<Identity, "traits">;
  readonly state: UserRecord["moderation_state"];
  readonly world: World;
}

/**
 * Builds the refusal for a resource that does not exist. Callers who hold `world.update` learn that
 * the resource is missing; all other callers receive {@link forbidden}. A resource that the caller
 * may not see is treated as missing.
 * @param what the kind of resource, such as "room".
 */
export const missing = ({ identity, state, world }: Caller, what: string): Refusal =>
  may(identity, ["world.update"], { world }) &&
  !isKeptOut(state) &&
  !isWithheld(state, "world.update")
    ? new Refusal(403, `There is no such ${what}.`, {}, "missing")
    : forbidden();

/** Like {@link missing}, for a request's caller. */
export const missingTo = (
  { caller: identity, callerState: state, world }: FastifyRequest,
  what: string,
): Refusal =>
  world && (identity as Identity | undefined)
    ? missing({ identity, state, world: world.value }, what)
    : forbidden();
