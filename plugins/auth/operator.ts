import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { forbidden, unauthenticated } from "../http/errors.js";
import { type Admission, tokenIn } from "./guard.js";
import { IdentityError } from "./identity.js";

const digestOf = (text: string) => createHash("sha256").update(text).digest();

/**
 * Makes the guard of the server's own API, which admits only its operator. No other
 * route takes the token.
 * @param secret the ADMIN_TOKEN.
 */
export function operator(secret: string): Admission {
  const expected = digestOf(secret);
  return async (request) => {
    const token = tokenIn(request.headers.authorization);
    if (token !== undefined) {
      if (timingSafeEqual(digestOf(token), expected)) return;
      if (await isOfWorld(request, token)) throw forbidden();
    }
    throw unauthenticated(
      token === undefined
        ? "Authentication credentials were not provided."
        : "The token is not the server's.",
    );
  };
}

/** Whether a world of this server signed a token, whose bearer then is known and has no right here. */
async function isOfWorld(
  { server, params }: FastifyRequest,
  token: string,
): Promise<boolean> {
  const { world_id = "" } = params as { world_id?: string };
  try {
    await server.identify({ token }, world_id);
    return true;
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error;
    return error.reason === "foreign";
  }
}
