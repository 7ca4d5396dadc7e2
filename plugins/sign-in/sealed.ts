import {
  createCipheriv,
  createDecipheriv,
  hkdfSync,
  randomBytes,
} from "node:crypto";
import type { World } from "../../schemas/worlds.js";

/** A sign-in under way, which the browser keeps for the server. */
export interface SignIn {
  state: string;
  nonce: string;
  /** The secret of PKCE. */
  verifier: string;
  /** Where the provider sends the person: with the address of the server as it was at the beginning. */
  callback: string;
  /** The address to which it leads, from the base on. */
  to: string;
  /** In milliseconds since 1970. */
  ends: number;
}

const CIPHER = "aes-256-gcm";
const IV = 12;
const TAG = 16;

/**
 * The key of the cookies of a world. It follows from the first key of the world, so all workers and
 * nodes have it, and nothing else is stored.
 */
const keyOf = ({ config }: World): Buffer =>
  Buffer.from(
    hkdfSync(
      "sha256",
      config.JWT_secrets[0]!.secret,
      "",
      "foyer sign-in cookie 1",
      32,
    ),
  );

const contextOf = (world: World, provider: string) =>
  Buffer.from(JSON.stringify([world.id, provider]));

/** Seals a sign-in for one provider of one world. */
export function seal(world: World, provider: string, signIn: SignIn): string {
  const iv = randomBytes(IV);
  const cipher = createCipheriv(CIPHER, keyOf(world), iv);
  cipher.setAAD(contextOf(world, provider));
  const text = cipher.update(JSON.stringify(signIn));
  const parts = [iv, text, cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(parts).toString("base64url");
}

/** The sign-in that was sealed; undefined if it was not, or for another place, or is over. */
export function unseal(
  world: World,
  provider: string,
  sealed: string,
): SignIn | undefined {
  const bytes = Buffer.from(sealed, "base64url");
  if (bytes.length <= IV + TAG) return undefined;
  const key = keyOf(world);
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV), {
    authTagLength: TAG,
  });
  decipher.setAAD(contextOf(world, provider));
  decipher.setAuthTag(bytes.subarray(-TAG));
  try {
    const text = decipher.update(bytes.subarray(IV, -TAG));
    const whole = Buffer.concat([text, decipher.final()]).toString();
    const signIn = JSON.parse(whole) as SignIn;
    return Date.now() < signIn.ends ? signIn : undefined;
  } catch {
    return undefined;
  }
}
