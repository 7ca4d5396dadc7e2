import { createHash } from "node:crypto";
import { isIP } from "node:net";
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import {
  CHALLENGE_MS,
  type StoredPasskey,
  type PasskeyUse,
} from "../../db/contract/passkey-store.js";

// The two WebAuthn ceremonies, based on the library: adding a passkey, and signing in with one.

/** The site that a ceremony is for. */
export interface Site {
  /** The RP ID: the host, without a port. */
  readonly host: string;
  readonly origin: string;
}

/** A person who adds a passkey. */
export interface Owner {
  /** The id of the user, which becomes the credential's user handle. It is random. */
  readonly id: string;
  readonly name: string;
}

/** Returns the site at a base URL. */
export function siteOf(base: string): Site {
  const { hostname, origin } = new URL(base);
  return { host: hostname, origin };
}

/**
 * Returns the host whose pages can use passkeys, or null if browsers do not permit any: they require
 * a name instead of an address, and TLS except on the local machine.
 */
export function passkeyHost(base: string): string | null {
  const { hostname, protocol } = new URL(base);
  const isLocal = hostname === "localhost" || hostname.endsWith(".localhost");
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, "")) !== 0;
  return !isAddress && (protocol === "https:" || isLocal) ? hostname : null;
}

/** Signature algorithms: EdDSA, ES256 and RS256 (RFC 9053, RFC 8812), which all authenticators cover. */
const ALGORITHMS = [-8, -7, -257];

/**
 * Returns the options for adding a passkey.
 * @param event the title of the event, which distinguishes the passkeys of one site.
 * @param present the owner's existing passkeys. Their authenticators are not offered again.
 */
export async function registrationOptions(
  { host }: Site,
  event: string,
  { id, name }: Owner,
  present: readonly StoredPasskey[],
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { generateRegistrationOptions } = await import("@simplewebauthn/server");
  return generateRegistrationOptions({
    rpID: host,
    rpName: event,
    userID: handleOf(id),
    userName: `${name} · ${event}`,
    userDisplayName: name,
    timeout: CHALLENGE_MS,
    supportedAlgorithmIDs: ALGORITHMS,
    attestationType: "none",
    // A passkey is the only proof of identity, so possession of the device is not enough.
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    excludeCredentials: present
      .filter((it) => it.host === host)
      .map((it) => ({ id: it.id, transports: [...it.transports] as never[] })),
  });
}

/** Returns the options for signing in. They contain no user, so they reveal nothing. */
export async function loginOptions({ host }: Site): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { generateAuthenticationOptions } = await import("@simplewebauthn/server");
  return generateAuthenticationOptions({
    rpID: host,
    userVerification: "required",
    timeout: CHALLENGE_MS,
  });
}

/** The part of a {@link StoredPasskey} that an authenticator determines. */
export type NewCredential = Pick<StoredPasskey, "id" | "publicKey" | "counter" | "transports">;

/** The known transports. Browsers may report others. */
const TRANSPORTS = ["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"];

/**
 * Verifies a new credential.
 * @returns undefined if the credential is not valid for this site and challenge.
 */
export async function verifyRegistration(
  { host, origin }: Site,
  challenge: string,
  response: unknown,
): Promise<NewCredential | undefined> {
  const { verifyRegistrationResponse } = await import("@simplewebauthn/server");
  try {
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: response as RegistrationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: host,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified) return undefined;
    const { id, publicKey, counter, transports = [] } = registrationInfo.credential;
    return {
      id,
      publicKey: Buffer.from(publicKey).toString("base64url"),
      counter,
      transports: TRANSPORTS.filter((it) => (transports as unknown[]).includes(it)),
    };
  } catch {
    // The library throws on every invalid response.
    return undefined;
  }
}

/**
 * Verifies a sign-in with a passkey.
 * @returns the passkey's use, or undefined if the response is not valid for this site, challenge and
 * passkey.
 */
export async function verifyLogin(
  { host, origin }: Site,
  challenge: string,
  response: unknown,
  { id, publicKey, counter, user }: StoredPasskey,
): Promise<Omit<PasskeyUse, "at"> | undefined> {
  const { verifyAuthenticationResponse } = await import("@simplewebauthn/server");
  const given = response as AuthenticationResponseJSON;
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: given,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: host,
      requireUserVerification: true,
      credential: { id, publicKey: new Uint8Array(Buffer.from(publicKey, "base64url")), counter },
    });
    const { userHandle } = given.response;
    const isOwn = userHandle === Buffer.from(handleOf(user)).toString("base64url");
    return verified && isOwn
      ? { id, challenge, counter: authenticationInfo.newCounter }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Returns a user handle: 16 bytes of the id, which is a UUID, so that it says nothing about the person. */
const handleOf = (id: string) => new Uint8Array(Buffer.from(id.replaceAll("-", ""), "hex"));

/**
 * Returns the digest that identifies, in a passkey's proof, the key that verified the owner's
 * token.
 */
export const keyDigest = (key: object): string =>
  createHash("sha256").update(JSON.stringify(key)).digest("base64url");
