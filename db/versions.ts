import { hash } from "node:crypto";
import type { Room } from "../schemas/rooms.js";
import type { World } from "../schemas/worlds.js";
import type { RoomPage, Versioned } from "./store.js";

// A version is a hash of the values that a reader sees, so it is the same on every
// server and every engine. It includes the revision, because a change followed by
// its reversal must not look like no change.

/** The length of a version in characters of base64url: 132 bits of a SHA-256. */
const LENGTH = 22;

const digest = (values: unknown[]) =>
  hash("sha256", JSON.stringify(values), "base64url").slice(0, LENGTH);

/**
 * A value with a version that is computed on first access. Most records that are
 * read between writes are never sent, so their versions are never needed.
 */
function versioned<T>(value: T, compute: (value: T) => string): Versioned<T> {
  let version: string | undefined;
  return Object.freeze({
    value,
    get version() {
      return (version ??= compute(value));
    },
  });
}

/**
 * A world with its version.
 * @param world gets frozen.
 * @param revision the number of its changes, from 1.
 */
export const versionedWorld = (
  world: World,
  revision: number,
): Versioned<World> =>
  versioned(frozen(world), ({ id, title, config, permission_config, domain }) =>
    digest([id, title, config, permission_config, domain, revision]),
  );

/** A room with its version; see {@link versionedWorld}. */
export const versionedRoom = (room: Room, revision: number): Versioned<Room> =>
  versioned(frozen(room), (it) =>
    digest([
      it.id,
      it.name,
      it.description,
      it.module_config,
      it.permission_config,
      it.sorting_priority,
      it.domain,
      revision,
    ]),
  );

/** A page of rooms with its version, which depends on its content alone. */
export const versionedPage = (page: RoomPage): Versioned<RoomPage> =>
  versioned(frozen(page), ({ count, rooms }) => digest([count, rooms]));

/** Freezes a value with all that it holds, because all readers share it. */
function frozen<T extends object>(value: T): T {
  for (const inner of Object.values(value)) {
    if (typeof inner === "object" && inner !== null) frozen(inner as object);
  }
  return Object.freeze(value);
}
