import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type { Author } from "../../db/contract/author.js";
import { tokenIn } from "./guard.js";

/** How many characters of a digest tell tokens apart. */
const DIGEST = 32;

/**
 * Who writes by a call of the REST API, as the log names the author: the user of its token,
 * or the token itself if its `uid` names no user of the world. A digest does not tell the
 * token, and whoever holds one can find its entries.
 * @param request on a route that requires permission keys.
 */
export function authorOf({ callerId, headers }: FastifyRequest): Author {
  if (callerId !== null) return { kind: "api", user: callerId };
  const digest = createHash("sha256").update(tokenIn(headers.authorization)!);
  return { kind: "api", token: digest.digest("hex").slice(0, DIGEST) };
}
