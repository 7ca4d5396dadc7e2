import type { InviteStore } from "../../db/contract/invite-store.js";
import type { RoomStore, UserRecord, UserStore } from "../../db/contract/store.js";
import { anonymousId, kindOf, kioskId } from "../../db/rules/user-rows.js";
import type { Clock } from "../../db/runtime.js";
import type { Identity } from "../../plugins/auth/identity.js";
import type { Scope } from "../../schemas/plain/permissions.js";
import { LiveError } from "../rules/problems.js";
import { isInvited } from "../rules/rights.js";
import { roomOfScreen } from "../socket/endings.js";

// Logins by links that open little: of a room for people without a name, and of a screen.

/** The ports of such logins. */
export interface ScopePorts {
  readonly clock: Clock;
  readonly store: {
    readonly users: UserStore;
    readonly rooms: RoomStore;
    readonly invites: InviteStore;
  };
}

/** A caller, and what a link makes of them. */
export interface Scoped {
  readonly identity: Identity;
  readonly scope?: Scope;
}

const unknownLink = () =>
  new LiveError("auth.invalid_token", "The link is over, or of another event.");

/**
 * The guest whom the link of a room lets in.
 * @param token of the link.
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
 * Checks whether the link of a login still holds.
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
 * The user of a screen. After the user is erased, the token of the screen names no user.
 * @throws {LiveError} `auth.invalid_token`.
 */
export async function screenOf(
  { store }: ScopePorts,
  world: string,
  { kiosk, ...identity }: Identity,
): Promise<Scoped & { user: UserRecord }> {
  const clientId = kioskId(kiosk!);
  const user = await store.users.find(world, { clientId });
  // A user that a login had made would have no profile.
  if (!user?.profile || kindOf(user) !== "kiosk") throw unknownLink();
  const named = { ...identity, clientId, traits: new Set<string>() };
  return { identity: named, scope: { kind: "kiosk", room: roomOfScreen(user) }, user };
}
