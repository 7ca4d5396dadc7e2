import type { Connection } from "../engine/connection.js";
import { absent, denied } from "../../rules/preconditions.js";
import { IS_KNOWN } from "../../rules/rows.js";

/** Checks the room and the user of an action in a room. */
export function participantChecks(db: Connection) {
  const findRoom = db.prepare<[string, string]>(
    "SELECT 1 FROM rooms WHERE id = ? AND world_id = ?",
  );
  const stateOf = db
    .prepare<[string, string], string>(
      `SELECT moderation_state FROM users WHERE id = ? AND world_id = ? AND ${IS_KNOWN}`,
    )
    .pluck();

  /**
   * @returns the moderation state of the user.
   * @throws {StoreError} `absent` on `user`, also if the user is erased.
   */
  const expectUser = (worldId: string, user: string): string => {
    const state = stateOf.get(user, worldId);
    if (state === undefined) throw absent("user");
    return state;
  };

  return {
    expectUser,

    /** @throws {StoreError} `absent` on `room` unless the world has the room. */
    expectRoom: (worldId: string, room: string): void => {
      if (!findRoom.get(room, worldId)) throw absent("room");
    },

    /** @throws {StoreError} `absent` as {@link expectUser}, or `denied` if the user is banned or silenced. */
    expectActive: (worldId: string, user: string): void => {
      if (expectUser(worldId, user) !== "") {
        throw denied("The user is banned or silenced.");
      }
    },
  };
}
