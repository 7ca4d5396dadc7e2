import type { FastifyRequest } from "fastify";
import type { UserRecord } from "../../db/contract/store.js";
import type { Faults, Problem, ProblemCode } from "../../schemas/errors.js";
import { isWithheld, may } from "../../schemas/plain/permissions.js";
import type { World } from "../../schemas/worlds.js";
import type { Identity } from "../auth/identity.js";
import { Stackless } from "../stackless.js";

/** The code of a problem by its status; any other 4xx is `invalid_request`. */
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

/** Something else has a value of these fields already: 409. */
export class Conflict extends Refusal {
  constructor(readonly fields: Faults) {
    super(409, Object.values(fields).flat().join(" "), {}, "conflict");
  }
}

/** The world has as much as it may have: 409. */
export const beyondQuota = (detail: string) => new Refusal(409, detail, {}, "quota");

/** JSON that does not parse. */
export const invalidJson = (detail: string) => new Refusal(400, detail, {}, "invalid_json");

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

/**
 * A missing thing and a forbidden one get the same answer, to the byte, but for callers who may
 * know what there is: see {@link missing}.
 */
export const forbidden = () =>
  new Refusal(403, "You do not have permission to perform this action.");

/** Who calls, as far as it decides about what they may know. */
interface Caller {
  readonly identity: Pick<Identity, "traits">;
  readonly state: UserRecord["moderation_state"];
  readonly world: World;
}

/**
 * There is no such thing: to callers who hold `world.update` it says so, to others what
 * {@link forbidden} says. A thing that the caller may not see is as good as none.
 * @param what such as "room".
 */
export const missing = ({ identity, state, world }: Caller, what: string): Refusal =>
  may(identity, ["world.update"], { world }) &&
  state !== "banned" &&
  !isWithheld(state, "world.update")
    ? new Refusal(403, `There is no such ${what}.`, {}, "missing")
    : forbidden();

/** The same for the caller of a request. */
export const missingTo = (
  { caller: identity, callerState: state, world }: FastifyRequest,
  what: string,
): Refusal =>
  world && (identity as Identity | undefined)
    ? missing({ identity, state, world: world.value }, what)
    : forbidden();
