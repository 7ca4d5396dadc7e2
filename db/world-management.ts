import { randomBytes, randomUUID } from "node:crypto";
import { defaultPermissionConfig, moderatorRules } from "../schemas/plain/permissions.js";
import { roomsOf, type Template } from "../schemas/plain/templates.js";
import type { World, WorldChanges, WorldKey } from "../schemas/worlds.js";
import type { Author } from "./contract/author.js";
import type { Engines } from "./contract/engines.js";
import { type Store, StoreError } from "./contract/store.js";
import { absent, missingWorld } from "./rules/preconditions.js";

// Operations on worlds that are more than one call of the store. They need no
// server and load no TypeBox, so commands and routes share them.

/** The traits that the default rules of a new world let do everything. */
export const ADMINISTRATOR = ["admin", "api"];

/** The title and domain of a world; see `schemas/plain/texts.ts` for the limits. */
interface WorldNames {
  id: string;
  title: string;
  domain: string;
}

/** Where worlds are kept: their records and the bytes of their files. */
type Data = Pick<Engines, "store" | "files">;

/** A fresh random key of 256 bits for the world `id`. */
export const freshKey = (id: string): WorldKey => ({
  issuer: "foyer",
  audience: id,
  secret: randomBytes(32).toString("hex"),
});

/**
 * A new world with a fresh key and the default rules. It is not stored.
 * @param isPrivate adds a rule that lets only the trait `attendee` take part.
 */
export const draftWorld = ({ id, title, domain }: WorldNames, isPrivate = false): World => ({
  id,
  title,
  domain,
  config: { JWT_secrets: [freshKey(id)] },
  permission_config: {
    ...defaultPermissionConfig,
    ...(isPrivate && { "world.view": ["attendee"] }),
  },
});

/** The world with an id. @throws {StoreError} `absent`, with one line for the operator. */
export async function findWorld(store: Store, id: string): Promise<World> {
  const world = await store.worlds.get(id);
  if (!world) throw missingWorld(id);
  return world.value;
}

/**
 * Creates a world with the rooms of a template, in which the role Moderator moderates.
 * @param template none makes no rooms, and leaves the rules as they are.
 * @param by the author; the author of the store by default.
 * @throws {StoreError} `taken` on `id` or `domain`.
 */
export async function createWorld(
  store: Store,
  draft: World,
  template?: Template,
  by?: Author,
): Promise<World> {
  const world = template
    ? { ...draft, permission_config: { ...draft.permission_config, ...moderatorRules } }
    : draft;
  const rooms = (template ? roomsOf(template) : []).map((room, i) => ({
    id: randomUUID(),
    revision: 1,
    permission_config: {},
    ...room,
    sorting_priority: i + 1,
  }));
  return (await store.worlds.import({ world, rooms }, {}, by)).world.value;
}

/**
 * Creates a world as another is, with a fresh key, so it refuses tokens of the first world.
 * @see WorldStore.clone
 * @throws {StoreError} `absent`, or `taken` on `id` or `domain`.
 */
export const cloneWorld = async (store: Store, id: string, names: WorldNames): Promise<World> =>
  (await store.worlds.clone(id, draftWorld(names))).value;

/** The fields that {@link changeWorld} replaces. */
export interface WorldReset {
  title?: string | undefined;
  domain?: string | undefined;
  /** Puts the rules of a new world back. */
  defaultRules?: boolean | undefined;
  /** Replaces all keys with a fresh one. Tokens that the old keys signed stop working. */
  newKey?: boolean | undefined;
}

/**
 * Changes a world, also one that no token can change any more.
 * @throws {StoreError} `absent`, `taken` on `domain`, or `changed` if another writer
 *   changed the world while its keys were replaced.
 */
export async function changeWorld(
  store: Store,
  id: string,
  { title, domain, defaultRules, newKey }: WorldReset,
): Promise<World> {
  const world = await store.worlds.get(id);
  if (!world) throw missingWorld(id);
  const changes: WorldChanges = {
    ...(title !== undefined && { title }),
    ...(domain !== undefined && { domain }),
    ...(defaultRules && { permission_config: defaultPermissionConfig }),
    ...(newKey && { config: { ...world.value.config, JWT_secrets: [freshKey(id)] } }),
  };
  // The config is replaced as a whole, so it must be the one that was read.
  const versions = newKey ? [world.version] : undefined;
  return (await store.worlds.update(id, changes, versions)).value;
}

/** How often files may be uploaded to a world while it is being deleted. */
const MAX_UPLOADS_BETWEEN = 20;

/**
 * Deletes a world with its rooms, users and files. After a crash in between, a sweep
 * of a server removes the bytes that are left.
 * @param by the author; the author of the store by default.
 * @throws {StoreError} `absent` or `changed`, with one line for the operator.
 */
export async function deleteWorld({ store, files }: Data, id: string, by?: Author): Promise<void> {
  await findWorld(store, id);
  for (let tries = 1; ; tries++) {
    const keys = await store.files.keys(id);
    try {
      return await files.discard(keys, () => store.worlds.delete(id, keys, by));
    } catch (error) {
      // Every file has to be noted before its record is gone.
      const isBetween = error instanceof StoreError && error.problem === "changed";
      if (!isBetween) throw error;
      if (tries === MAX_UPLOADS_BETWEEN) {
        throw new StoreError("changed", "Files are being uploaded. Try again.");
      }
    }
  }
}

/**
 * Deletes a file: its record and its bytes. After a crash in between, a sweep of a
 * server removes the bytes.
 * @param by the author; the author of the store by default.
 * @throws {StoreError} `absent`.
 */
export async function deleteFile(
  { store, files }: Data,
  worldId: string,
  id: string,
  by?: Author,
): Promise<void> {
  const file = await store.files.get(worldId, id);
  if (!file) throw absent("file");
  await files.discard([file.key], async () => [await store.files.delete(worldId, id, by)]);
}

/** The claims of a new token about its bearer, and its lifetime. */
export interface TokenOptions {
  /** The user's id in the service that issues the token; none by default. */
  uid?: string | undefined;
  /** `admin` and `api` by default. */
  traits?: readonly string[];
  /** Further facts about the user, such as a display name; none by default. */
  profile?: Record<string, unknown>;
  /** Such as `90s`, `30m`, `12h` or `30d`, the default. `-1m` makes an expired token. */
  expiresIn?: string;
}

/** How long the token of a screen is valid. */
const SCREEN = "365d";

/** Signs the token of a screen with the first key of a world. It names no user of the API. */
export const signKiosk = (world: World, kiosk: string): Promise<string> =>
  sign(world, { kiosk, traits: [] }, SCREEN);

/** Signs a token with the first key of a world. */
export const signToken = (
  world: World,
  { uid, traits = ADMINISTRATOR, profile, expiresIn = "30d" }: TokenOptions = {},
): Promise<string> =>
  sign(
    world,
    { ...(uid !== undefined && { uid }), ...(profile && { profile }), traits },
    expiresIn,
  );

async function sign({ config }: World, claims: object, expiresIn: string): Promise<string> {
  // Imported here, because most commands sign nothing.
  const { createSigner } = await import("fast-jwt");
  const { issuer, audience, secret } = config.JWT_secrets[0]!;
  return createSigner({ key: secret, algorithm: "HS256", iss: issuer, aud: audience, expiresIn })(
    claims,
  );
}
