import { randomBytes, randomUUID } from "node:crypto";
import { previewKeyOf } from "../schemas/plain/file-types.js";
import type { Invitation } from "../schemas/invitations.js";
import { HOST_ROLE, pageOfRole, traitsOfRole } from "../schemas/plain/invitations.js";
import { phaseOf } from "../schemas/plain/access.js";
import { linkTo } from "../schemas/plain/links.js";
import { defaultPermissionConfig, moderatorRules } from "../schemas/plain/permissions.js";
import { roomsOf, type Template } from "../schemas/plain/templates.js";
import type { World, WorldChanges, WorldKey } from "../schemas/worlds.js";
import type { Author } from "./contract/author.js";
import type {
  InvitationRecord,
  InvitationSelection,
  InvitationTokenKind,
} from "./contract/invitation-store.js";
import type { Engines } from "./contract/engines.js";
import type { MailDetail } from "./contract/mail-store.js";
import { type Store, StoreError } from "./contract/store.js";
import { jtiOf, shownInvitation, stands } from "./rules/invitation-rows.js";
import { absent, missingWorld } from "./rules/preconditions.js";

// Operations on worlds that take more than one call to the store. They do not require a server and
// do not load TypeBox, so commands and routes can share them.

/** Number of invitations per read. */
const INVITATIONS_PER_READ = 1000;

/** The traits to which a new world's default rules grant all permissions. */
export const ADMINISTRATOR = ["admin", "api"];

/** The id, title and domain of a world; see `schemas/plain/texts.ts` for the limits. */
interface WorldNames {
  id: string;
  title: string;
  domain: string;
}

/** The storage for worlds: the worlds' records, and the bytes of their files. */
type Data = Pick<Engines, "store" | "files">;

/** Generates a random 256-bit key for the world `id`. */
export const freshKey = (id: string): WorldKey => ({
  issuer: "foyer",
  audience: id,
  secret: randomBytes(32).toString("hex"),
});

/**
 * Builds a new world with a fresh key and the default rules, without storing it.
 * @param isPrivate adds a rule that admits only users with the trait `attendee`.
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

/** Returns a world by id. @throws {StoreError} `absent`, with a one-line message for the operator. */
export async function findWorld(store: Store, id: string): Promise<World> {
  const world = await store.worlds.get(id);
  if (!world) throw missingWorld(id);
  return world.value;
}

/**
 * Creates a world with a template's rooms, and with rules that let the role Moderator moderate.
 * @param template the template. Without a template, no rooms are created and the rules stay
 * unchanged.
 * @param by the author; defaults to the store's author.
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
 * Clones a world. The clone has a fresh key, so it rejects the original's tokens.
 * @see WorldStore.clone
 * @throws {StoreError} `absent`, or `taken` on `id` or `domain`.
 */
export const cloneWorld = async (store: Store, id: string, names: WorldNames): Promise<World> =>
  (await store.worlds.clone(id, draftWorld(names))).value;

/** The fields that {@link changeWorld} replaces. */
export interface WorldResetOptions {
  title?: string | undefined;
  domain?: string | undefined;
  /** Restores the default rules of a new world. */
  defaultRules?: boolean | undefined;
  /** Replaces all keys with a fresh key, which invalidates tokens signed with the old keys. */
  newKey?: boolean | undefined;
}

/**
 * Changes a world, even if no token can change it anymore.
 * @throws {StoreError} `absent`, `taken` on `domain`, or `changed` if another writer changed the
 * world while its keys were being replaced.
 */
export async function changeWorld(
  store: Store,
  id: string,
  { title, domain, defaultRules, newKey }: WorldResetOptions,
): Promise<World> {
  const world = await store.worlds.get(id);
  if (!world) throw missingWorld(id);
  const changes: WorldChanges = {
    ...(title !== undefined && { title }),
    ...(domain !== undefined && { domain }),
    ...(defaultRules && { permission_config: defaultPermissionConfig }),
    ...(newKey && { config: { ...world.value.config, JWT_secrets: [freshKey(id)] } }),
  };
  // The config is replaced as a whole, so it must not have changed since it was read.
  const versions = newKey ? [world.version] : undefined;
  return (await store.worlds.update(id, changes, versions)).value;
}

/** Maximum number of attempts to delete a world while files are being uploaded to it. */
const MAX_UPLOADS_BETWEEN = 20;

/**
 * Deletes a world with its rooms, users and files. If the process crashes partway, a server's sweep
 * removes the remaining bytes.
 * @param by the author; defaults to the store's author.
 * @throws {StoreError} `absent` or `changed`, with a one-line message for the operator.
 */
export async function deleteWorld({ store, files }: Data, id: string, by?: Author): Promise<void> {
  await findWorld(store, id);
  for (let tries = 1; ; tries++) {
    const keys = await store.files.keys(id);
    try {
      return await files.discard(keys, () => store.worlds.delete(id, keys, by));
    } catch (error) {
      // Retry if a file was added: every file must be noted before its record is deleted.
      const isBetween = error instanceof StoreError && error.problem === "changed";
      if (!isBetween) throw error;
      if (tries === MAX_UPLOADS_BETWEEN) {
        throw new StoreError("changed", "Files are being uploaded. Try again.");
      }
    }
  }
}

/**
 * Deletes a file: its record and its bytes. If the process crashes partway, a server's sweep
 * removes the bytes.
 * @param by the author; defaults to the store's author.
 * @throws {StoreError} `absent` if there is no such file.
 */
export async function deleteFile(
  { store, files }: Data,
  worldId: string,
  id: string,
  by?: Author,
): Promise<void> {
  const file = await store.files.get(worldId, id);
  if (!file) throw absent("file");
  const keys = [file.key, previewKeyOf(file.key)];
  await files.discard(keys, () => store.files.delete(worldId, id, by));
}

/** The claims about a new token's bearer, and its lifetime. */
export interface TokenOptions {
  /** The user's id at the service that issues the token; none by default. */
  uid?: string | undefined;
  /** The user's traits; `admin` and `api` by default. */
  traits?: readonly string[];
  /** Data about the user, such as a display name; none by default. */
  profile?: Record<string, unknown>;
  /** The token's lifetime, such as `90s`, `30m`, `12h` or `30d`, the default. `-1m` creates an expired token. */
  expiresIn?: string;
}

/** Lifetime of a screen's token. */
const SCREEN = "365d";

/** Signs a screen's token with a world's first key. The token does not identify an API user. */
export const signKiosk = (world: World, kiosk: string): Promise<string> =>
  sign(world, { kiosk, traits: [] }, SCREEN);

/** Signs a token with a world's first key. */
export const signToken = (
  world: World,
  { uid, traits = ADMINISTRATOR, profile, expiresIn = "30d" }: TokenOptions = {},
): Promise<string> =>
  sign(
    world,
    { ...(uid !== undefined && { uid }), ...(profile && { profile }), traits },
    expiresIn,
  );

/**
 * Lifetime of an invitation's links. The invitation itself determines when they end, so that a host
 * can change that later.
 */
const INVITED = "3650d";

/**
 * Signs a token of an invitation. The store keeps no token: whoever presents this one gets what the
 * invitation grants then, until the invitation ends or a newer token of the same kind was made.
 * @param kind `link` for the link that was made last, `recovery` for the recovery link that was
 * made last, and `session` for somebody who has proven otherwise who they are.
 * @param expiresIn the token's lifetime, as in {@link TokenOptions}; by default, only the
 * invitation decides.
 */
export const signInvitation = (
  world: World,
  invitation: InvitationRecord,
  kind: InvitationTokenKind,
  expiresIn = INVITED,
): Promise<string> =>
  sign(
    world,
    {
      uid: invitation.uid,
      ...(invitation.name !== "" && { profile: { display_name: invitation.name } }),
      traits: traitsOfRole(invitation.role),
      jti: jtiOf(invitation, kind),
    },
    expiresIn,
  );

/**
 * Signs the current link of an invitation. It opens the console for people who may use the API, and
 * the event for all others.
 * @param address the address of the server.
 */
export async function invitationLink(
  world: World,
  invitation: InvitationRecord,
  address: string,
): Promise<string> {
  const token = await signInvitation(world, invitation, "link");
  const page = pageOfRole(invitation.role, world.permission_config);
  return linkTo(page, { address, world: world.id, token });
}

/**
 * Returns invitations in the form that callers receive, including the status of the last mail to
 * each person.
 */
export async function shownInvitations(
  store: Store,
  invitations: readonly InvitationRecord[],
  world: World,
): Promise<Invitation[]> {
  const ids = invitations.map(({ id }) => id);
  const reports = await store.mails.reports(world.id, ids);
  return invitations.map((it) => shownInvitation(it, world, reports.get(it.id)));
}

/**
 * The custom texts of the mails, and the name of the act that sends them. A mail is sent only once
 * per act.
 */
type MailAct = Pick<MailDetail, "subject" | "text"> & { readonly act?: string };

/**
 * Queues the mails to those invitations that can get one: with an address, valid, and not stopped
 * by the recipient. A running server with SMTP_URL sends them.
 * @param by the author; defaults to the store's author.
 * @returns the numbers of mails that were queued, and of invitations that cannot get one.
 */
export async function queueInvitations(
  { mails }: Store,
  world: World,
  invitations: readonly InvitationRecord[],
  { subject, text, act = randomUUID() }: MailAct,
  by?: Author,
): Promise<{ queued: number; skipped: number }> {
  const now = Date.now();
  const ids = invitations.map(({ id }) => id);
  const stopped = new Set(await mails.stopped(world.id, ids));
  const ready = invitations.filter(
    (it) => it.email && stands(it, world, now) && !stopped.has(it.id),
  );
  const detail: MailDetail = {
    ...(subject !== undefined && subject.trim() !== "" && { subject }),
    ...(text !== undefined && text.trim() !== "" && { text }),
  };
  const drafts = ready.map(({ id }) => ({
    act: `invitation:${act}:${id}`,
    kind: "invitation" as const,
    invitation: id,
    detail,
    due_at: now,
  }));
  const queued = drafts.length > 0 ? await mails.queue(world.id, drafts, now, by) : 0;
  return { queued, skipped: invitations.length - ready.length };
}

/**
 * Returns a world's invitations in pages, oldest first.
 * @param unsent returns only invitations for which no mail has been sent.
 */
export async function* invitationPages(
  { invitations, mails }: Store,
  world: string,
  {
    unsent = false,
    ...selection
  }: Pick<InvitationSelection, "q" | "role" | "state"> & { unsent?: boolean } = {},
): AsyncGenerator<InvitationRecord[]> {
  for (let after: readonly [number] | undefined; ;) {
    const options = {
      ...selection,
      page: 1,
      pageSize: INVITATIONS_PER_READ,
      now: Date.now(),
      after,
    };
    const { invitations: found } = await invitations.list(world, options);
    const ids = found.map(({ id }) => id);
    const reports = unsent ? await mails.reports(world, ids) : undefined;
    yield found.filter(({ id }) => !reports?.has(id));
    const last = found.at(-1);
    if (!last || found.length < INVITATIONS_PER_READ) return;
    after = [last.number];
  }
}

/**
 * Invites a person who receives all rights in a world.
 * @param by the author; defaults to the store's author.
 */
export async function inviteHost(
  store: Store,
  world: World,
  name = "",
  by?: Author,
): Promise<InvitationRecord> {
  const [made] = await store.invitations.create(world.id, [{ name, role: HOST_ROLE }], by);
  return made!;
}

/**
 * Returns the link to the console of an event that was set up, but whose host has no link, because
 * the server was killed before it made the invitation: the only event of the server, unpublished,
 * without people and invitations. Makes the invitation.
 * @param address the address of the server.
 * @returns undefined if there is no such event.
 */
export async function lostHostLink(store: Store, address: string): Promise<string | undefined> {
  const [world, other] = await store.worlds.list({ limit: 2 });
  if (!world || other || phaseOf(world.config, Date.now()) !== "unpublished") return undefined;
  const page = { page: 1, pageSize: 1 };
  const { invitations } = await store.invitations.list(world.id, { ...page, now: Date.now() });
  if (invitations.length > 0) return undefined;
  const { count } = await store.users.list(world.id, { ...page, ordering: "created" });
  if (count > 0) return undefined;
  return invitationLink(world, await inviteHost(store, world), address);
}

async function sign({ config }: World, claims: object, expiresIn: string): Promise<string> {
  // Imported lazily, because most commands sign nothing.
  const { createSigner } = await import("fast-jwt");
  const { issuer, audience, secret } = config.JWT_secrets[0]!;
  return createSigner({ key: secret, algorithm: "HS256", iss: issuer, aud: audience, expiresIn })(
    claims,
  );
}
