import type { InvitationStore } from "../../db/contract/invitation-store.js";
import type { RoomStore, Store, UserRecord, UserStore } from "../../db/contract/store.js";
import { anonymousId, kindOf, kioskId } from "../../db/rules/user-rows.js";
import type { Clock } from "../../db/runtime.js";
import type { Identity } from "../../plugins/auth/identity.js";
import type { Scope } from "../../schemas/plain/permissions.js";
import { LiveError } from "../rules/problems.js";
import { isInvited } from "../rules/rights.js";
import { roomOfScreen } from "../socket/endings.js";

// Logins through links with limited rights: links to a room for people without a name, and links
// for screens.

/** Ports of logins through links with limited rights. */
export interface ScopePorts {
  readonly clock: Clock;
  readonly store: {
    readonly users: UserStore;
    readonly rooms: RoomStore;
    readonly invites: Store["invites"];
    readonly invitations: Pick<InvitationStore, "standing">;
  };
}

/** A caller, and the scope to which a link limits the caller's rights. */
export interface Scoped {
  readonly identity: Identity;
  readonly scope?: Scope;
}

const unknownLink = () =>
  new LiveError("auth.invalid_token", "The link has expired, or belongs to another event.");

/**
 * Returns the guest whom a room's link admits.
 * @param token the token of the link.
 * @throws {LiveError}
 */
export async function invited(
  ports: ScopePorts,
  world: string,
  identity: Identity,
  token: unknown,
): Promise<Scoped> {
  if (typeof token !== "string") throw unknownLink();
  const invite = await ports.store.invites.find(world, token);
  if (!invite) throw unknownLink();
  const { room } = invite;
  const scope: Scope = { kind: "anonymous", room, token };
  await requireInvite(ports, world, scope);
  const clientId = anonymousId(room, identity.clientId!);
  return { identity: { ...identity, clientId, expires: invite.ends / 1000 }, scope };
}

/**
 * Checks that the link used for a login is still valid.
 * @throws {LiveError} `auth.invalid_token`.
 */
export async function requireInvite(
  { clock, store }: ScopePorts,
  world: string,
  scope: Scope | undefined,
): Promise<void> {
  if (scope?.kind !== "anonymous") return;
  const invite = await store.invites.find(world, scope.token);
  const room = await store.rooms.get(world, scope.room);
  if (!isInvited(invite, room?.value, clock.date())) throw unknownLink();
}

/**
 * Finds a screen's user. Once the user is erased, the screen's token no longer identifies anyone.
 * @throws {LiveError} `auth.invalid_token`.
 */
export async function screenOf(
  { store }: ScopePorts,
  world: string,
  { kiosk, ...identity }: Identity,
): Promise<Scoped & { user: UserRecord }> {
  const clientId = kioskId(kiosk!);
  const user = await store.users.find(world, { clientId });
  // A user created by a login would have no profile.
  if (!user?.profile || kindOf(user) !== "kiosk") throw unknownLink();
  const named = { ...identity, clientId, traits: new Set<string>() };
  return { identity: named, scope: { kind: "kiosk", room: roomOfScreen(user) }, user };
}
