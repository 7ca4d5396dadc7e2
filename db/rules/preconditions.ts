import type { RecordName } from "../../schemas/plain/records.js";
import { StoreError } from "../contract/store.js";
import { IS_KNOWN } from "./rows.js";

/** The room and user named by a write, as found in the database. */
export interface RoomAndUser {
  hasRoom: unknown;
  /** The user's moderation state; null if there is no such user. */
  userState: string | null;
}

/** The columns of a {@link RoomAndUser}: `$1` is the world, `$2` the room, and `$3` the user or null. */
export const PLACE = `EXISTS (SELECT 1 FROM rooms WHERE world_id = $1 AND id = $2) AS "hasRoom",
  (SELECT moderation_state FROM users WHERE world_id = $1 AND id = $3 AND ${IS_KNOWN}) AS "userState"`;

export const FIND_PLACE = `SELECT ${PLACE}`;

/** @throws {StoreError} `absent` on `room`. */
export function expectRoom({ hasRoom }: RoomAndUser): void {
  if (!hasRoom) throw absent("room");
}

/** @throws {StoreError} `absent` on `user`, including for erased users. */
export function expectUser({ userState }: RoomAndUser): void {
  if (userState === null) throw absent("user");
}

/** @throws {StoreError} like {@link expectUser}, or `denied` if the user is banned or silenced. */
export function expectActive(place: RoomAndUser): void {
  expectUser(place);
  if (place.userState !== "") throw denied("The user is banned or silenced.");
}

export const absent = (
  kind:
    | "world"
    | "room"
    | "user"
    | "file"
    | "announcement"
    | "webhook"
    | "event"
    | "question"
    | "poll"
    | "option"
    | "passkey"
    | "report"
    | RecordName,
) => new StoreError("absent", `There is no such ${kind}.`, kind);

/** Like {@link absent}, with the world's id in the message. */
export const missingWorld = (id: string) =>
  new StoreError("absent", `There is no world ${id}.`, "world");

export const denied = (reason: string) => new StoreError("denied", reason);

export const changed = () => new StoreError("changed", "It was changed in between.");

export const pageTooLarge = () => new StoreError("large", "The page is too large.");

/**
 * Checks a write's precondition.
 * @param version computes the record's current version.
 * @param versions the versions for which the write is allowed. If undefined, any version is
 * allowed.
 * @throws {StoreError} `changed` if the current version is not allowed.
 */
export function expectVersion(
  version: () => string,
  versions: readonly string[] | undefined,
): void {
  if (versions && !versions.includes(version())) throw changed();
}

/**
 * Refuses to delete the records of files whose bytes nothing would remove after a crash.
 * @param noted the keys of files noted for removal; undefined skips the check.
 * @throws {StoreError} `changed` if a file has not been noted.
 */
export function expectNoted(keys: readonly string[], noted: readonly string[] | undefined): void {
  if (!noted) return;
  const known = new Set(noted);
  if (keys.every((key) => known.has(key))) return;
  throw new StoreError("changed", "A file was added in between.");
}
