import type { UserRecord, Versioned } from "../../db/contract/store.js";
import { type Identity, stillHolds } from "../../plugins/auth/identity.js";
import type { Scope } from "../../schemas/plain/permissions.js";
import type { World } from "../../schemas/worlds.js";
import { LiveError, problemOf } from "../rules/problems.js";
import { mayInWorld } from "../rules/rights.js";
import type { WorldState } from "../rules/world-state.js";
import type { Connection } from "./connection.js";
import type { Login } from "./login-state.js";
import { Close, pushFrame } from "./frame.js";

// The reasons for which the server ends a connection, and their messages to the client.

/** Why a connection that logged in has to end. */
type EndReason =
  "world.unknown_world" | "auth.expired_token" | "auth.invalid_token" | "auth.denied";

/** How long a client may take to read its last frame before the connection closes, in milliseconds. */
const RELOAD_DELAY_MS = 2000;
const REPLACED_DELAY_MS = 500;

/**
 * Why a user may not stay in a world; undefined if they may.
 * @param now in milliseconds since 1970.
 */
export function reasonToEnd(
  identity: Identity,
  world: Versioned<World> | undefined,
  now: number,
  scope?: Scope,
): EndReason | undefined {
  if (!world) return "world.unknown_world";
  if (!stillHolds(identity, world, now)) {
    const { expires } = identity;
    return expires !== undefined && now / 1000 >= expires
      ? "auth.expired_token"
      : "auth.invalid_token";
  }
  const who = { traits: identity.traits, state: "" as const, scope };
  return mayInWorld(who, "world.view", world.value) ? undefined : "auth.denied";
}

/** Sends the reason, and closes. @returns the error, for the interrupted work. */
export function throwOut(connection: Connection, reason: EndReason | "auth.timeout"): LiveError {
  // The client gets the code alone.
  const error = new LiveError(reason, "");
  const frame = pushFrame("error", problemOf(error));
  const isUnknown = reason === "world.unknown_world";
  connection.finish(frame, isUnknown ? Close.normal : Close.policy);
  return error;
}

/**
 * Makes a client load everything again, and closes.
 * @param first a frame that is sent before.
 */
export function reload(connection: Connection, first: Buffer = Buffer.alloc(0)): void {
  connection.finish(
    Buffer.concat([first, pushFrame("connection.reload", {})]),
    Close.normal,
    RELOAD_DELAY_MS,
  );
}

/** Ends a connection in favor of newer ones of the same user. */
export function replace(connection: Connection): void {
  const error = new LiveError("connection.replaced");
  const frame = pushFrame("error", problemOf(error));
  connection.finish(frame, Close.normal, REPLACED_DELAY_MS);
}

/** Makes the push that brings a connection its new rights; undefined for none. */
export type RightsFrame = (connection: Connection, state: WorldState) => Buffer | undefined;

/** The room that a screen shows, as its profile says. */
export function roomOfScreen({ profile }: Pick<UserRecord, "profile">): string | undefined {
  const { room_id } = profile ?? {};
  return typeof room_id === "string" && room_id !== "" ? room_id : undefined;
}

/** Whether a screen still shows the room that it has shown since its login. */
const isSameScreen = ({ scope }: Login, user: UserRecord): boolean =>
  scope?.kind !== "kiosk" || scope.room === roomOfScreen(user);

/** Whether a user may no longer be connected, regardless of their rights. */
export const isGone = (user: UserRecord | undefined): boolean =>
  !user || user.deleted || user.moderation_state === "banned";

/**
 * Applies the present rights of a user, and pushes them to the client. The client of a user
 * who is gone or has fewer rights loads everything again.
 * @param state of the world, if it is known.
 */
export function applyModeration(
  connection: Connection,
  user: UserRecord | undefined,
  state: WorldState | undefined,
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
  // More rights have to wait: without the state of the world, their push would be lost.
  if (!state && now !== "silenced") return;
  login.state = now;
  const updated = state && rightsFrame(connection, state);
  // A client that follows changes learned at its login that its user was silenced.
  if (now === "silenced" || login.changes) reload(connection, updated);
  else if (updated) connection.push(updated);
}
