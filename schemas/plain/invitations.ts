import type { LinkedPage } from "./links.js";
import {
  isOutOfReach,
  allows,
  fallbackOf,
  permissionKeys,
  RUNNING,
  type PermissionConfig,
  type PermissionKey,
} from "./permissions.js";

// Rules of invitations that the server, the commands and the pages share.

/** Maximum number of invitations per world. */
export const MAX_INVITATIONS = 100_000;

/** Maximum number of invitations per request. */
export const MAX_INVITED_AT_ONCE = 1000;

/** How long after the event's end an invitation lasts that has no end of its own, in milliseconds. */
export const ENDS_AFTER_EVENT_MS = 30 * 24 * 60 * 60_000;

/** The role to which a new world's default rules grant all permissions. */
export const HOST_ROLE = "admin";

/** Returns the traits that a role gives to its people. */
export const traitsOfRole = (role: string): readonly string[] =>
  role === HOST_ROLE ? ["admin", "api"] : [role];

/** Returns the page that the links of people with a role open: the console for those who may use it. */
export const pageOfRole = (role: string, rules: PermissionConfig): LinkedPage =>
  allows("world.api", new Set(traitsOfRole(role)), rules) ? "console" : "event";

/** Whether people with a role run the event, so that their invitations do not end with the event. */
export const isHostRole = (role: string, rules: PermissionConfig): boolean => {
  const traits = new Set(traitsOfRole(role));
  return role === HOST_ROLE || RUNNING.some((key) => allows(key, traits, rules));
};

/**
 * Whether a caller may not give a role to anybody, or take the role away, because the role holds
 * rights that the caller lacks. Callers who may edit the event need only the rights of the people
 * who run it; all others also need every other right that is not open by default, in each room.
 * @param rules of the event.
 * @param rooms the rules of the rooms; they matter only for callers who may not edit the event.
 * @param may whether the caller holds a key, in the event or in a room with these rules.
 */
export function isRoleOutOfReach(
  role: string,
  rules: PermissionConfig,
  rooms: readonly PermissionConfig[],
  may: (key: PermissionKey, room?: PermissionConfig) => boolean,
): boolean {
  const traits = traitsOfRole(role);
  if (isOutOfReach(traits, rules, may)) return true;
  if (may("world.update")) return false;
  const held = new Set(traits);
  return [undefined, ...rooms].some((room) =>
    permissionKeys.some(
      (key) => fallbackOf(key) !== "everybody" && !may(key, room) && allows(key, held, rules, room),
    ),
  );
}

/**
 * What has become of an invitation. `invited`: nobody has signed in with it yet. `used`: somebody
 * has. `expired`: its end has passed. `revoked`: a host has withdrawn it.
 */
export const INVITATION_STATES = ["invited", "used", "expired", "revoked"] as const;

export type InvitationState = (typeof INVITATION_STATES)[number];
