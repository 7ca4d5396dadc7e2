import type { Foyer, Versioned, World } from "../../client/index.js";
import { claimsOf } from "./identity.js";
import { isSignedBy, signAgain, type SigningKey } from "./signing.js";

// The keys of a world: `config.JWT_secrets`. The first one signs, all of them verify.

/** How many keys a world may have. */
export const MAX_KEYS = 20;

export type KeysApi = Pick<Foyer, "getWorld" | "updateWorld">;

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
export interface Rotator {
  readonly api: KeysApi;
  readonly identity: { readonly token?: string };
}

/** Goes on with another token, once the server has accepted it. */
export type Move<R> = (token: string) => Promise<R>;

/**
 * Adds a key that signs from now on, and goes on with a token of it.
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
