import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type { Author } from "../../db/contract/author.js";
import { tokenIn } from "./guard.js";
import type { Identity } from "./identity.js";

/** How many characters of a digest distinguish tokens. */
const DIGEST_CHARACTERS = 32;

/** The digests of verified tokens. To hash a token takes a twentieth of a write. */
const digests = new WeakMap<Identity, string>();

/**
 * The author of a REST write, as the log names it: the user of the token, or a digest of the
 * token if its `uid` names no user of the world. The digest does not reveal the token, but an
 * operator who holds the token can find its entries.
 * @param request on a route that requires permission keys.
 */
export function authorOf(request: FastifyRequest): Author {
  const { callerId, headers, caller, id } = request;
  if (callerId !== null) return { kind: "api", user: callerId, request: id };
  let token = digests.get(caller);
  if (token === undefined) {
    digests.set(caller, (token = tokenDigest(headers.authorization)));
  }
  return { kind: "api", token, uid: caller.tokenId, request: id };
}

/** The author of a write by a token that names no user. */
export const tokenAuthor = (authorization: string | undefined): Author => ({
  kind: "api",
  token: tokenDigest(authorization),
});

const tokenDigest = (authorization: string | undefined): string =>
  createHash("sha256").update(tokenIn(authorization)!).digest("hex").slice(0, DIGEST_CHARACTERS);
