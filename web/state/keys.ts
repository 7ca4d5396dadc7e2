import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { type Foyer, FoyerError, type Versioned, type World } from "../../client/index.js";
import { csvCell } from "../../schemas/plain/sheets/csv.js";
import type { Shelf } from "../lib/storage.js";
import { claimsOf, tokenOf } from "./identity.js";

// A world's keys: `config.JWT_secrets`. The first key signs tokens; all keys verify tokens.

/** Maximum number of keys per world. */
export const MAX_KEYS = 20;

type KeysApi = Pick<Foyer, "getWorld" | "updateWorld">;

/** A world with its keys, and the version on which changes to the keys are based. */
export type KeyedWorld = Versioned<World>;

/** Returns a world's keys, without duplicates. */
export const keysOf = ({ config }: World): readonly SigningKey[] =>
  config.JWT_secrets.filter((key, at, all) => all.findIndex((it) => isSameKey(it, key)) === at);

/** Returns the index of the key that signed a token, or -1 if none of the keys did. */
export function signerOf(keys: readonly SigningKey[], token: string | undefined): number {
  if (token === undefined) return -1;
  const { iss, aud } = claimsOf(token) ?? {};
  return keys.findIndex(
    ({ issuer, audience, secret }) =>
      issuer === iss && audience === aud && isSignedBy(token, secret),
  );
}

/**
 * Whether two keys are the same. A secret alone does not identify a key, because several issuers
 * may share a secret.
 */
export const isSameKey = (a: SigningKey, b: SigningKey): boolean =>
  a.issuer === b.issuer && a.audience === b.audience && a.secret === b.secret;

/** Returns the last characters of a secret, by which users recognize it. */
export const endOf = ({ secret }: SigningKey): string => secret.slice(-4);

/**
 * Adds a key that signs tokens from now on. The existing keys still verify tokens.
 * @throws {FoyerError} 412 if the world has changed since it was read.
 */
export const addKey = (api: KeysApi, world: KeyedWorld, key: SigningKey) =>
  write(api, world, [key, ...keysOf(world)]);

/**
 * Removes a key, which immediately invalidates the tokens that it signed.
 * @throws {FoyerError} 412 if the world has changed since it was read.
 */
export const removeKey = (api: KeysApi, world: KeyedWorld, key: SigningKey) =>
  write(
    api,
    world,
    keysOf(world).filter((it) => !isSameKey(it, key)),
  );

/**
 * The session that changes the keys. It must still have a valid token after the key that signed its
 * current token is removed.
 */
interface Rotator {
  readonly api: KeysApi;
  readonly identity: { readonly token?: string };
}

/** Switches the session to another token, once the server has accepted it. */
export type Move<R> = (token: string) => Promise<R>;

/**
 * Adds a key that signs tokens from now on, and switches the session to a token signed with this
 * key.
 * @throws {FoyerError} 412 if the world has changed since it was read.
 */
export async function rotateIn<R extends Rotator>(
  rotator: R,
  move: Move<R>,
  world: KeyedWorld,
  key: SigningKey,
): Promise<{ rotator: R; world: KeyedWorld }> {
  const added = await addKey(rotator.api, world, key);
  const token = signAgain(rotator.identity.token!, key);
  return { world: added, rotator: await move(token) };
}

/**
 * Removes a key. If this key signed the session's token, the session first switches to a token
 * signed with another key.
 * @throws {FoyerError} 412 if the world has changed since it was read.
 */
export async function rotateOut<R extends Rotator>(
  rotator: R,
  move: Move<R>,
  world: KeyedWorld,
  key: SigningKey,
): Promise<{ rotator: R; world: KeyedWorld }> {
  const { token } = rotator.identity;
  const rest = keysOf(world).find((it) => !isSameKey(it, key));
  if (!rest) throw new Error("A world needs a key.");
  const isOwn = signerOf([key], token) === 0;
  const next = isOwn ? await move(signAgain(token!, rest)) : rotator;
  return { rotator: next, world: await removeKey(next.api, world, key) };
}

/** Replaces a key immediately. If the replacement fails halfway, no administrator is locked out. */
export async function replaceKey<R extends Rotator>(
  rotator: R,
  move: Move<R>,
  world: KeyedWorld,
  [key, fresh]: readonly [SigningKey, SigningKey],
): Promise<{ rotator: R; world: KeyedWorld }> {
  const added = await rotateIn(rotator, move, world, fresh);
  return rotateOut(added.rotator, move, added.world, key);
}

async function write(
  api: KeysApi,
  world: KeyedWorld,
  keys: readonly SigningKey[],
): Promise<KeyedWorld> {
  if (keys.length === 0) throw new Error("A world needs a key.");
  const config = { ...world.config, JWT_secrets: [...keys] };
  return api.updateWorld({ config }, { ifMatch: world.etag });
}

// Tokens are signed here with HS256. Browsers offer `crypto.subtle` on secure pages only, and the
// console must work over plain HTTP as well.

/** A key in a world's `config.JWT_secrets`. */
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

/** Signs a token (RFC 7519) with HS256. */
export function signToken(claims: Readonly<Record<string, unknown>>, secret: string): string {
  const parts = [{ alg: "HS256", typ: "JWT" }, claims].map((part) =>
    base64url(utf8(JSON.stringify(part))),
  );
  const text = parts.join(".");
  return `${text}.${signature(secret, text)}`;
}

/** Whether a token was signed with a secret. */
export function isSignedBy(token: string, secret: string): boolean {
  const end = token.lastIndexOf(".");
  return signature(secret, token.slice(0, end)) === token.slice(end + 1);
}

/**
 * Re-signs a token's claims with another key.
 * @param more claims to add or replace.
 */
export function signAgain(
  token: string,
  key: SigningKey,
  more: Readonly<Record<string, unknown>> = {},
): string {
  const claims = { ...claimsOf(token), ...more, iss: key.issuer, aud: key.audience };
  return signToken(claims, key.secret);
}

/** Generates a secret: 256 random bits as 64 hex characters. */
export const freshSecret = (): string => hex(crypto.getRandomValues(new Uint8Array(32)));

/** Generates a user id for a person who has none. */
export const freshUid = (kind: "guest" | "host" = "guest"): string =>
  `${kind}-${Array.from(crypto.getRandomValues(new Uint8Array(5)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("")}`;

/** Formats a table as CSV (RFC 4180). Cells are escaped, so that no cell starts a formula in a spreadsheet. */
export const csvOf = (rows: readonly (readonly string[])[]): string =>
  rows
    .map((row) => row.map(csvCell).join(","))
    .map((line) => `${line}\r\n`)
    .join("");

/** The token in pasted text, or the reason why there is none. */
export type SignIn =
  | { readonly token: string; readonly problem?: undefined }
  | { readonly problem: "empty" | "malformed" };

/**
 * Extracts the token from pasted text, which is a token or a link. The server decides whether the
 * token has expired, because this computer's clock may be wrong.
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
 * Adds a user to a token that names no user. The live connection requires a user, but tokens for
 * the HTTP API often name none. A bearer who may see the world's keys can sign the new token.
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

// The server's events for which this browser has a console link.

interface KnownEvent {
  /** The world's id. */
  readonly id: string;
  readonly title: string;
}

const TOKEN = /^foyer:([a-z0-9][a-z0-9-]{0,49}):console:token$/;
const titleOf = (id: string) => `foyer:${id}:console:title`;

/** Stores an event's title, to show it while another event is open. */
export function keepTitle(shelf: Shelf, id: string, title: string): void {
  if (shelf.getItem(titleOf(id)) !== title) shelf.setItem(titleOf(id), title);
}

/**
 * Returns the events whose link has not expired, sorted by title.
 * @param names the names of all items on the shelf.
 * @param now in milliseconds since 1970.
 */
export const knownEvents = (shelf: Shelf, names: readonly string[], now: number): KnownEvent[] =>
  names
    .flatMap((name) => {
      const id = TOKEN.exec(name)?.[1];
      const token = id && shelf.getItem(name);
      const exp = token ? claimsOf(token)?.["exp"] : undefined;
      if (!id || typeof exp !== "number" || exp * 1000 <= now) return [];
      return [{ id, title: shelf.getItem(titleOf(id)) ?? id }];
    })
    .sort((a, b) => a.title.localeCompare(b.title));
