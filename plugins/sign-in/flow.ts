import type { Configuration } from "openid-client";
import type { SignInProvider } from "../../schemas/issuers.js";
import { claimIn, type ForeignClaims } from "../auth/claims.js";
import { IdentityError, readUid } from "../auth/identity.js";
import { OutboundError } from "../outbound/outbound.js";
import type { ProviderClients } from "./clients.js";

/** The longest address that a sign-in leads to, in characters. */
const MAX_LENGTH = 500;

/** A room that the address of a page shows. */
const ROOM = /^#\/rooms\/([\w-]{1,100})$/;

/**
 * The page to which a sign-in leads: what `?to=` asks for if that is a page of the event, or else its
 * first page.
 * @param to a path, as the page that began the sign-in has it.
 * @param base the URL of the server, without a slash at its end.
 * @param isHere whether the host of the request names the world, too.
 * @returns a path from the base on, perhaps with a query, and with `#/rooms/…`.
 */
export function destinationOf(
  to: unknown,
  { base, world, isHere }: { base: string; world: string; isHere: boolean },
): string {
  const first = `/w/${world}/`;
  if (typeof to !== "string" || to.length > MAX_LENGTH) return first;
  // Browsers read a backslash as a slash, and drop tabs and line ends.
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

/** The address of a page that gets a token. */
export function withToken(destination: string, token: string): string {
  const [page = "", room] = destination.split("#/rooms/");
  return `${page}#token=${token}${room === undefined ? "" : `&room=${room}`}`;
}

/**
 * Why the sign-in failed, for the page. `denied`: the person or the provider declined. `expired`: it took too
 * long, or was begun elsewhere. `unavailable`: the provider does not answer. `failed`: anything else.
 */
export type SignInProblem = "denied" | "expired" | "unavailable" | "failed";

/** The sign-in failed. The message is for the log. */
export class SignInError extends Error {
  constructor(
    readonly code: SignInProblem,
    message: string,
  ) {
    super(message);
  }
}

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

/** How long a person may take, in milliseconds. */
export const SIGN_IN_TIMEOUT_MS = 10 * 60_000;

/** The part of a sign-in that the library makes up. */
type Secrets = Omit<SignIn, "to" | "ends">;

/**
 * Begins a sign-in.
 * @param redirectUri where the provider sends the person afterwards.
 * @throws {SignInError}
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
 * Finishes a sign-in.
 * @param answer the query with which the provider sent the person back.
 * @returns the claims about the person: from the ID token, and then from the userinfo.
 * @throws {SignInError}
 */
export async function finish(
  clients: ProviderClients,
  provider: SignInProvider,
  answer: string,
  { callback, state, nonce, verifier }: SignIn,
): Promise<ForeignClaims> {
  // The provider compares it with the one at the beginning. Another node may have been asked then.
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
    // The client is registered for another way to name itself.
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
 * The id of a person as a user.
 * @throws {SignInError} if the claim is missing, or is no id.
 */
export function userIdOf(claims: ForeignClaims, { issuer, uid = "sub" }: SignInProvider): string {
  try {
    const given = readUid(claimIn(claims, uid) ?? undefined);
    if (given === undefined) {
      throw new SignInError("failed", `There is no claim ${uid}.`);
    }
    // The length of the whole is bounded, as it becomes the uid of a token of the world.
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
    // It was logged when it happened.
    throw new SignInError("unavailable", (error as Error).message);
  }
}

/** Nothing of the answer of the provider gets into a message for people. */
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
