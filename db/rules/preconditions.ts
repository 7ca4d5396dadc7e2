import { StoreError } from "../contract/store.js";

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
