import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { claimsOf } from "./identity.js";

// Tokens are signed here by HS256. Browsers offer `crypto.subtle` to secure pages only,
// and a console on plain http must work as well.

/** A key of a world: `config.JWT_secrets` holds them, and the first one signs. */
export interface SigningKey {
  issuer: string;
  audience: string;
  secret: string;
}

const utf8 = (text: string) => new TextEncoder().encode(text);

const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

const signature = (secret: string, text: string): string =>
  base64url(hmac(sha256, utf8(secret), utf8(text)));

/** Signs a token (RFC 7519) by HS256. */
export function signToken(claims: Readonly<Record<string, unknown>>, secret: string): string {
  const parts = [{ alg: "HS256", typ: "JWT" }, claims].map((part) =>
    base64url(utf8(JSON.stringify(part))),
  );
  const text = parts.join(".");
  return `${text}.${signature(secret, text)}`;
}

/** Whether a secret signed a token. */
export function isSignedBy(token: string, secret: string): boolean {
  const end = token.lastIndexOf(".");
  return signature(secret, token.slice(0, end)) === token.slice(end + 1);
}

/**
 * A token with the same claims, signed by another key.
 * @param more further claims.
 */
export function signAgain(
  token: string,
  key: SigningKey,
  more: Readonly<Record<string, unknown>> = {},
): string {
  const claims = { ...claimsOf(token), ...more, iss: key.issuer, aud: key.audience };
  return signToken(claims, key.secret);
}

/** A new secret: 256 random bits as 64 characters. */
export const freshSecret = (): string => hex(crypto.getRandomValues(new Uint8Array(32)));

/** Names a secret without revealing it. */
export const fingerprintOf = (secret: string): string =>
  hex(sha256(utf8(`foyer ${secret}`)).slice(0, 8));
