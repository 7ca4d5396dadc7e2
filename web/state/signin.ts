import { FoyerError } from "../../client/index.js";
import { claimsOf, tokenOf } from "./identity.js";
import { keysOf, type KeysApi } from "./keys.js";
import { freshUid } from "./links.js";
import { signAgain } from "./signing.js";

/** Why a text cannot sign in, or the token that it holds. */
export type SignIn =
  | { readonly token: string; readonly problem?: undefined }
  | { readonly problem: "empty" | "malformed" };

/**
 * The token in a pasted text: a token, or a link that has one. The server decides whether it
 * has expired, as the clock of this computer may be wrong.
 */
export function signInWith(text: string): SignIn {
  const pasted = text.trim();
  const hash = pasted.indexOf("#");
  const token = hash < 0 ? pasted : tokenOf(pasted.slice(hash));
  if (!token) return { problem: hash < 0 ? "empty" : "malformed" };
  const claims = claimsOf(token);
  if (!claims || token.split(".").length !== 3) return { problem: "malformed" };
  return { token };
}

/**
 * A copy of a token that names a user. The live connection needs a user, and tokens for the
 * HTTP API often name none. A bearer who may see the keys of the world can sign it.
 * @returns undefined if the bearer may not see the keys.
 */
export async function withUser(
  token: string,
  api: Pick<KeysApi, "getWorld">,
): Promise<string | undefined> {
  if (claimsOf(token)?.["uid"] !== undefined) return token;
  try {
    const [key] = keysOf(await api.getWorld());
    return signAgain(token, key!, { uid: freshUid("host") });
  } catch (error) {
    if (error instanceof FoyerError && error.status < 500) return undefined;
    throw error;
  }
}
