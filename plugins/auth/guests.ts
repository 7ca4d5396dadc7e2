import { type Identity, IdentityError } from "./identity.js";

/** The clients choose their ids, and keep them. */
const CLIENT_ID = /^[\w.~-]{1,200}$/;

/**
 * The guest that a client ID names: nobody proves to be one, so guests have no traits.
 * @throws {IdentityError} `malformed`.
 */
export function guestOf(clientId: string): Identity {
  if (!CLIENT_ID.test(clientId)) {
    throw new IdentityError("malformed", "The client ID is malformed.");
  }
  return { clientId, traits: new Set() };
}
