import type { Configuration } from "openid-client";
import type { SignInProvider } from "../../schemas/issuers.js";
import { claimIn, type ForeignClaims } from "../auth/claims.js";
import { IdentityError, readUid } from "../auth/identity.js";
import { OutboundError } from "../outbound/outbound.js";
import type { ProviderClients } from "./clients.js";

/** Maximum length of the address that a sign-in redirects to, in characters. */
const MAX_LENGTH = 500;

/** Matches the URL fragment of a page that shows a room. */
const ROOM = /^#\/rooms\/([\w-]{1,100})$/;

/**
 * Returns the page to redirect to after a sign-in: the page in `?to=` if that page belongs to the
 * event, or otherwise the event's first page.
 * @param to a path, from the page that began the sign-in.
 * @param base the server's URL, without a trailing slash.
 * @param isHere whether the request's host also identifies the world.
 * @returns a path relative to the base, possibly with a query and with `#/rooms/…`.
 */
export function destinationOf(
  to: unknown,
  { base, world, isHere }: { base: string; world: string; isHere: boolean },
): string {
  const first = `/w/${world}/`;
  if (typeof to !== "string" || to.length > MAX_LENGTH) return first;
  // Browsers treat a backslash as a slash, and strip tabs and line breaks.
  if (!/^\/(?![/\\])[^\\\s]*$/.test(to) || !URL.canParse(to, base)) return first;
  const root = new URL(base);
  const { origin, pathname, search, hash } = new URL(to, root);
  const folder = root.pathname.replace(/\/$/, "");
  if (origin !== root.origin || !pathname.startsWith(`${folder}/`)) return first;
  const path = pathname.slice(folder.length);
  const own = new RegExp(`^/w/${world}(/(?!sign-in)[\\w/-]*)?$`);
  const isOwn = own.test(path) || (isHere && /^\/(console\/?)?$/.test(path));
  return isOwn ? path + search + (ROOM.test(hash) ? hash : "") : first;
}

/** Returns the URL that passes a token to a page. */
export function withToken(destination: string, token: string): string {
  const [page = "", room] = destination.split("#/rooms/");
  return `${page}#token=${token}${room === undefined ? "" : `&room=${room}`}`;
}

/**
 * Reasons why a sign-in failed, for the page. `denied`: the person or the provider declined.
 * `expired`: the sign-in took too long, began in another browser, or has already been completed.
 * `unavailable`: the provider does not respond. `failed`: any other reason.
 */
export type SignInProblem = "denied" | "expired" | "unavailable" | "failed";

/** Thrown when a sign-in fails. The message is for the log. */
export class SignInError extends Error {
  constructor(
    readonly code: SignInProblem,
    message: string,
  ) {
    super(message);
  }
}

/** A sign-in in progress, which the browser stores on behalf of the server. */
export interface SignIn {
  state: string;
  nonce: string;
  /** The PKCE code verifier. */
  verifier: string;
  /** The redirect URI for the provider. It contains the server's address at the start of the sign-in. */
  callback: string;
  /** The page to redirect to after the sign-in, relative to the base. */
  to: string;
  /** Expiry, in milliseconds since 1970. */
  ends: number;
}

/** Time limit for a person to sign in, in milliseconds. */
export const SIGN_IN_TIMEOUT_MS = 10 * 60_000;

/** The part of a sign-in that is generated when it begins. */
type Secrets = Omit<SignIn, "to" | "ends">;

/**
 * Begins a sign-in.
 * @param redirectUri the address to which the provider redirects the person afterwards.
 * @throws {SignInError} if the provider is unavailable.
 */
export async function begin(
  clients: ProviderClients,
  provider: SignInProvider,
  redirectUri: string,
): Promise<{ address: URL; secrets: Secrets }> {
  const client = await import("openid-client");
  const [config] = await known(clients, provider);
  const verifier = client.randomPKCECodeVerifier();
  const secrets = {
    callback: redirectUri,
    state: client.randomState(),
    nonce: client.randomNonce(),
    verifier,
  };
  const address = client.buildAuthorizationUrl(config!, {
    redirect_uri: redirectUri,
    scope: scopeOf(provider),
    state: secrets.state,
    nonce: secrets.nonce,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  });
  return { address, secrets };
}

const scopeOf = ({ scopes = ["profile"] }: SignInProvider): string =>
  [...new Set(["openid", ...scopes])].join(" ");

/**
 * Completes a sign-in.
 * @param answer the query of the provider's redirect.
 * @returns the claims about the person. Claims in the ID token override claims from the userinfo
 * endpoint.
 * @throws {SignInError} if the sign-in fails.
 */
export async function finish(
  clients: ProviderClients,
  provider: SignInProvider,
  answer: string,
  { callback, state, nonce, verifier }: SignIn,
): Promise<ForeignClaims> {
  // The provider requires the redirect URI from the start of the sign-in, which another node may
  // have handled.
  const address = new URL(callback);
  address.search = answer;
  const configs = await known(clients, provider);
  try {
    return await claimsFrom(configs, address, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
    });
  } catch (error) {
    throw problemOf(error);
  }
}

async function claimsFrom(
  [config, ...others]: Configuration[],
  address: URL,
  checks: object,
): Promise<ForeignClaims> {
  const client = await import("openid-client");
  let tokens;
  try {
    tokens = await client.authorizationCodeGrant(config!, address, checks);
  } catch (error) {
    // The client is registered for an authentication method other than the method that failed.
    const isOther = error instanceof client.ResponseBodyError && error.error === "invalid_client";
    if (!isOther || others.length === 0) throw error;
    return claimsFrom(others, address, checks);
  }
  const claims = tokens.claims();
  if (!claims) throw new SignInError("failed", "There is no ID token.");
  if (config!.serverMetadata().userinfo_endpoint === undefined) return claims;
  const { access_token } = tokens;
  const more = await client.fetchUserInfo(config!, access_token, claims.sub);
  return { ...more, ...claims };
}

/**
 * Returns a person's user id.
 * @throws {SignInError} if the claim is missing or is not a valid id.
 */
export function userIdOf(claims: ForeignClaims, { issuer, uid = "sub" }: SignInProvider): string {
  try {
    const given = readUid(claimIn(claims, uid) ?? undefined);
    if (given === undefined) {
      throw new SignInError("failed", `The claim ${uid} is missing.`);
    }
    // Also checks the total length, because the result becomes the `uid` in a token for the world.
    return readUid(`${issuer}#${given}`)!;
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error;
    throw new SignInError("failed", error.message);
  }
}

async function known(clients: ProviderClients, provider: SignInProvider): Promise<Configuration[]> {
  try {
    return await clients.of(provider);
  } catch (error) {
    // The error has already been logged.
    throw new SignInError("unavailable", (error as Error).message);
  }
}

/** Converts an error to a sign-in error. No part of the provider's response reaches a message shown to people. */
function problemOf(error: unknown): SignInError {
  if (error instanceof SignInError) return error;
  const { cause, error: word = "" } = error as Error & { error?: string };
  const reason = /^[\w-]{1,60}$/.test(word) ? ` (${word})` : "";
  const message = (error as Error).message + reason;
  if (error instanceof OutboundError || cause instanceof OutboundError) {
    return new SignInError("unavailable", message);
  }
  const isDenied = word === "access_denied" || word === "login_required";
  return new SignInError(isDenied ? "denied" : "failed", message);
}
