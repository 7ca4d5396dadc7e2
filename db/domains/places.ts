import { absent, denied } from "../rules/preconditions.js";
import { IS_KNOWN } from "../rules/rows.js";

/** What a write finds of the room and the user that it names. */
export interface Place {
  hasRoom: unknown;
  /** The moderation state of the user; null if there is none. */
  userState: string | null;
}

/** The columns of a {@link Place}: `$1` is the world, `$2` the room, and `$3` the user or null. */
export const PLACE = `EXISTS (SELECT 1 FROM rooms WHERE world_id = $1 AND id = $2) AS "hasRoom",
  (SELECT moderation_state FROM users WHERE world_id = $1 AND id = $3 AND ${IS_KNOWN}) AS "userState"`;

/** Selects a {@link Place}. */
export const FIND_PLACE = `SELECT ${PLACE}`;

/** @throws {StoreError} `absent` on `room`. */
export function expectRoom({ hasRoom }: Place): void {
  if (!hasRoom) throw absent("room");
}

/** @throws {StoreError} `absent` on `user`, also if the user is erased. */
export function expectUser({ userState }: Place): void {
  if (userState === null) throw absent("user");
}

/** @throws {StoreError} as {@link expectUser}, or `denied` if the user is banned or silenced. */
export function expectActive(place: Place): void {
  expectUser(place);
  if (place.userState !== "") throw denied("The user is banned or silenced.");
}
