import { StoreError } from "../contract/store.js";
import { IS_KNOWN } from "./rows.js";

/** What a write finds of the room and the user that it names. */
export interface Place {
  hasRoom: unknown;
  /** The moderation state of the user; null if there is none. */
  userState: string | null;
}

/** The columns of a {@link Place}: `$1` is the world, `$2` the room, and `$3` the user or null. */
export const PLACE = `EXISTS (SELECT 1 FROM rooms WHERE world_id = $1 AND id = $2) AS "hasRoom",
  (SELECT moderation_state FROM users WHERE world_id = $1 AND id = $3 AND ${IS_KNOWN}) AS "userState"`;

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
    | "session"
    | "speaker",
) => new StoreError("absent", `There is no such ${kind}.`, kind);

/** The same, with its id. */
export const missingWorld = (id: string) =>
  new StoreError("absent", `There is no world ${id}.`, "world");

export const denied = (reason: string) => new StoreError("denied", reason);

export const changed = () => new StoreError("changed", "It was changed in between.");

export const pageTooLarge = () => new StoreError("large", "The page is too large.");

/**
 * Checks the precondition of a write.
 * @param version computes the present version of the record.
 * @param versions the versions in which the write may happen; any if undefined.
 * @throws {StoreError} `changed`.
 */
export function expectVersion(
  version: () => string,
  versions: readonly string[] | undefined,
): void {
  if (versions && !versions.includes(version())) throw changed();
}

/**
 * Refuses to delete the records of files whose bytes nothing would remove after a crash.
 * @param noted the keys of files whose bytes are noted; undefined if it does not matter.
 * @throws {StoreError} `changed`.
 */
export function expectNoted(keys: readonly string[], noted: readonly string[] | undefined): void {
  if (!noted) return;
  const known = new Set(noted);
  if (keys.every((key) => known.has(key))) return;
  throw new StoreError("changed", "A file was added in between.");
}
