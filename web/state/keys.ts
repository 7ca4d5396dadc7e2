import { type Readable, writable } from "svelte/store";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { type Foyer, FoyerError, type Versioned, type World } from "../../client/index.js";
import { csvCell } from "../../schemas/plain/csv.js";
import type { Shelf } from "../lib/storage.js";
import { claimsOf, tokenOf } from "./identity.js";

// The keys of a world: `config.JWT_secrets`. The first one signs, all of them verify.

/** How many keys a world may have. */
export const MAX_KEYS = 20;

type KeysApi = Pick<Foyer, "getWorld" | "updateWorld">;

/** A world with its keys. */
export type KeyedWorld = Versioned<World>;

/** The keys of a world, each once. */
export const keysOf = ({ config }: World): readonly SigningKey[] =>
  config.JWT_secrets.filter((key, at, all) => all.findIndex((it) => isSameKey(it, key)) === at);

/** Which key signed a token; -1 if none did. */
export function signerOf(keys: readonly SigningKey[], token: string | undefined): number {
  if (token === undefined) return -1;
  const { iss, aud } = claimsOf(token) ?? {};
  return keys.findIndex(
    ({ issuer, audience, secret }) =>
      issuer === iss && audience === aud && isSignedBy(token, secret),
  );
}

/** Whether two keys are one: several issuers may share a secret. */
export const isSameKey = (a: SigningKey, b: SigningKey): boolean =>
  a.issuer === b.issuer && a.audience === b.audience && a.secret === b.secret;

/** The last characters of a secret, to recognize it. */
export const endOf = ({ secret }: SigningKey): string => secret.slice(-4);

/**
 * Adds a key that signs from now on. The others keep verifying.
 * @throws {FoyerError} 412 if the world was changed since it was read.
 */
export const addKey = (api: KeysApi, world: KeyedWorld, key: SigningKey) =>
  write(api, world, [key, ...keysOf(world)]);

/**
 * Removes a key. Tokens that it signed end at once.
 * @throws {FoyerError} 412 if the world was changed since it was read.
 */
export const removeKey = (api: KeysApi, world: KeyedWorld, key: SigningKey) =>
  write(
    api,
    world,
    keysOf(world).filter((it) => !isSameKey(it, key)),
  );

/** The session that changes the keys: its token must outlive the key that signed it. */
interface Rotator {
  readonly api: KeysApi;
  readonly identity: { readonly token?: string };
}

/** Goes on with another token, once the server has accepted it. */
export type Move<R> = (token: string) => Promise<R>;

/**
 * Adds a key that signs from now on, and continues with a token of it.
 * @throws {FoyerError} 412 if the world was changed since it was read.
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
 * Removes a key. If it signed the token of the rotator, another one comes first.
 * @throws {FoyerError} 412 if the world was changed since it was read.
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

/** Replaces a key at once: a failure on the way locks out no administrator. */
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

/** The contents of a new token. */
interface LinkOptions {
  readonly uid: string;
  /** Empty for none. */
  readonly name: string;
  readonly traits: readonly string[];
  /** In seconds since 1970. */
  readonly expires: number;
}

/** A link that was made in this browser. The token is not kept. */
export interface MadeLink extends LinkOptions {
  /** The fingerprint of the key that signed it. */
  readonly key: string;
  /** In seconds since 1970. */
  readonly madeAt: number;
}

/** A random user id, for a person without one. */
export const freshUid = (kind: "guest" | "host" = "guest"): string =>
  `${kind}-${Array.from(crypto.getRandomValues(new Uint8Array(5)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("")}`;

/** A table as CSV (RFC 4180). No cell begins a formula in a spreadsheet. */
export const csvOf = (rows: readonly (readonly string[])[]): string =>
  rows
    .map((row) => row.map(csvCell).join(","))
    .map((line) => `${line}\r\n`)
    .join("");

/** How many links are remembered. */
const MAX_KEPT_LINKS = 1000;

/** The links that were made in this browser, the newest first. */
export class MadeLinks implements Readable<readonly MadeLink[]> {
  readonly #shelf: Shelf;
  readonly #key: string;
  readonly #all = writable<readonly MadeLink[]>([]);
  readonly subscribe = this.#all.subscribe;

  constructor(shelf: Shelf, world: string) {
    this.#shelf = shelf;
    this.#key = `foyer:${world}:console:links`;
    this.#all.set(this.#read());
  }

  add(list: readonly LinkOptions[], key: SigningKey, madeAt: number): void {
    const fingerprint = fingerprintOf(key.secret);
    const made = list.map((it) => ({ ...it, key: fingerprint, madeAt }));
    // Another tab may have added some.
    this.#write([...made.toReversed(), ...this.#read()].slice(0, MAX_KEPT_LINKS));
  }

  /** The unexpired links that a key signed. */
  signedBy(secret: string, now: number): MadeLink[] {
    const key = fingerprintOf(secret);
    return this.#read().filter((it) => it.key === key && it.expires > now);
  }

  forget(link: MadeLink): void {
    const is = JSON.stringify(link);
    this.#write(this.#read().filter((it) => JSON.stringify(it) !== is));
  }

  forgetAll(): void {
    this.#write([]);
  }

  #read(): MadeLink[] {
    try {
      const list: unknown = JSON.parse(this.#shelf.getItem(this.#key) ?? "[]");
      return Array.isArray(list) ? list.filter(isMadeLink) : [];
    } catch {
      return [];
    }
  }

  #write(links: MadeLink[]): void {
    this.#shelf.setItem(this.#key, JSON.stringify(links));
    this.#all.set(links);
  }
}

const isMadeLink = (value: unknown): value is MadeLink => {
  const { uid, name, traits, expires, key, madeAt } = (value ?? {}) as Partial<MadeLink>;
  return (
    [uid, name, key].every((text) => typeof text === "string") &&
    Array.isArray(traits) &&
    [expires, madeAt].every((time) => typeof time === "number")
  );
};

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

// The events of a server that this browser has a link to the console for.

interface KnownEvent {
  /** The id of its world. */
  readonly id: string;
  readonly title: string;
}

const TOKEN = /^foyer:([a-z0-9][a-z0-9-]{0,49}):console:token$/;
const titleOf = (id: string) => `foyer:${id}:console:title`;

/** Remembers what an event is called, for when another one is open. */
export function keepTitle(shelf: Shelf, id: string, title: string): void {
  if (shelf.getItem(titleOf(id)) !== title) shelf.setItem(titleOf(id), title);
}

/**
 * The events whose link has not expired, by their titles.
 * @param names of all items on the shelf.
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
