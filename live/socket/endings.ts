import { isGone, type UserRecord, type Versioned } from "../../db/contract/store.js";
import type { InvitationStanding } from "../../db/contract/invitation-store.js";
import { grantedIdentity, type Identity, stillHolds } from "../../plugins/auth/identity.js";
import { closedTo } from "../../db/rules/doors.js";
import { type ClosedPhase, CLOSED_PHASES } from "../../schemas/plain/access.js";
import type { World } from "../../schemas/worlds.js";
import { closedBy, LiveError, problemOf } from "../rules/problems.js";
import { mayInWorld } from "../rules/rights.js";
import type { LiveWorldState } from "../rules/world-state.js";
import type { Connection } from "./connection.js";
import type { Login } from "./login-state.js";
import { Close, pushFrame } from "./frame.js";

// Reasons for which the server ends a connection, and the messages that tell the client.

/** The reason for which a logged-in connection has to end. */
type EndReason =
  "world.unknown_world" | "auth.expired_token" | "auth.invalid_token" | "auth.denied" | ClosedPhase;

/** Who logged in, as far as that decides whether they may stay. */
type Holder = Pick<Login, "identity" | "scope"> & { readonly user: string | undefined };

/** How long clients have to read their last frame before the connection closes, in milliseconds. */
const RELOAD_DELAY_MS = 2000;
const REPLACED_DELAY_MS = 500;

/** Returns the person at the door of an event. Links with limited rights are not personal. */
export const entrantOf = ({ identity, scope, user }: Holder) => ({
  traits: identity.traits,
  isInvited: identity.tokenId !== undefined && !scope,
  user: scope ? undefined : user,
});

/**
 * Returns the reason for which a user may not stay in a world, or undefined if the user may stay.
 * @param now in milliseconds since 1970.
 * @param speakers the users who are speakers of the program, if the world's phase makes that matter.
 */
export function reasonToEnd(
  holder: Holder,
  world: Versioned<World> | undefined,
  now: number,
  speakers: ReadonlySet<string>,
): EndReason | undefined {
  const { identity, scope } = holder;
  if (!world) return "world.unknown_world";
  if (!stillHolds(identity, world, now)) {
    const { expires } = identity;
    return expires !== undefined && now / 1000 >= expires
      ? "auth.expired_token"
      : "auth.invalid_token";
  }
  const who = { traits: identity.traits, state: "" as const, scope };
  if (!mayInWorld(who, "world.view", world.value)) return "auth.denied";
  return closedTo(world.value, entrantOf(holder), speakers, now);
}

/**
 * Ends a connection whose token its invitation no longer admits, or makes its client log in again
 * if the invitation now grants something else.
 * @param standing the invitation that the token names; undefined if there is none.
 * @param now in milliseconds since 1970.
 * @returns whether the connection may stay.
 */
export function applyInvitation(
  connection: Connection,
  { identity }: Login,
  standing: InvitationStanding | undefined,
  world: World,
  now: number,
): boolean {
  if (connection.ended) return false;
  const granted = grantedIdentity(identity, standing, world);
  if (!granted) endWithError(connection, "auth.invalid_token");
  else if (now / 1000 >= granted.expires!) endWithError(connection, "auth.expired_token");
  // `expires` is the end of the token or of the invitation, so the invitation can only shorten it.
  else if (!isSameGrant(granted, identity)) reload(connection);
  else return true;
  return false;
}

const isSameGrant = (a: Identity, b: Identity): boolean =>
  a.expires === b.expires &&
  a.traits.size === b.traits.size &&
  [...a.traits].every((trait) => b.traits.has(trait));

/**
 * Sends the client the reason for which its connection ends, and closes the connection.
 * @returns an error with which to abort the interrupted work.
 */
export function endWithError(
  connection: Connection,
  reason: EndReason | "auth.timeout",
): LiveError {
  // The client receives only the code.
  const phase = CLOSED_PHASES.find((it) => it === reason);
  const error = phase
    ? closedBy(phase)
    : new LiveError(reason as Exclude<typeof reason, ClosedPhase>, "");
  const frame = pushFrame("error", problemOf(error));
  const isUnknown = reason === "world.unknown_world";
  connection.finish(frame, isUnknown ? Close.normal : Close.policy);
  return error;
}

/**
 * Makes a client reload everything, and closes the connection.
 * @param first a frame to send before the request to reload.
 */
export function reload(connection: Connection, first: Buffer = Buffer.alloc(0)): void {
  connection.finish(
    Buffer.concat([first, pushFrame("connection.reload", {})]),
    Close.normal,
    RELOAD_DELAY_MS,
  );
}

/** Ends a connection in favor of newer connections of the same user. */
export function replace(connection: Connection): void {
  const error = new LiveError("connection.replaced");
  const frame = pushFrame("error", problemOf(error));
  connection.finish(frame, Close.normal, REPLACED_DELAY_MS);
}

/** Builds the push that notifies a connection of its new rights, or returns undefined if no push is needed. */
export type RightsFrame = (connection: Connection, state: LiveWorldState) => Buffer | undefined;

/** Returns the room that a screen shows, according to its profile. */
export function roomOfScreen({ profile }: Pick<UserRecord, "profile">): string | undefined {
  const { room_id } = profile ?? {};
  return typeof room_id === "string" && room_id !== "" ? room_id : undefined;
}

/** Whether a screen's profile still names the same room as at login. */
const isSameScreen = ({ scope }: Login, user: UserRecord): boolean =>
  scope?.kind !== "kiosk" || scope.room === roomOfScreen(user);

/**
 * Applies a user's current rights, and pushes them to the client. If the user is gone or has fewer
 * rights, the client reloads everything.
 * @param state the world's state, if known.
 */
export function applyModeration(
  connection: Connection,
  user: UserRecord | undefined,
  state: LiveWorldState | undefined,
  rightsFrame: RightsFrame,
): void {
  const login = connection.login!;
  const now = user?.moderation_state ?? "";
  if (isGone(user) || !isSameScreen(login, user!)) {
    login.state = now;
    reload(connection);
    return;
  }
  if (login.state === now || connection.ended) return;
  // Regained rights have to wait: without the world's state, no push of the rights can be built.
  if (!state && now !== "silenced") return;
  login.state = now;
  const updated = state && rightsFrame(connection, state);
  // A client that logged in with `changes` learned at login that its user was silenced, and learns
  // at the next login that the silence has ended.
  if (now === "silenced" || login.changes) reload(connection, updated);
  else if (updated) connection.push(updated);
}
