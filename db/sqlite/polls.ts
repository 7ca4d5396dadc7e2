import type { PollStore } from "../polls.js";
import { toDeliveries } from "../chat-rows.js";
import type { pollReads } from "./poll-reads.js";
import type { Writer } from "./writer.js";

/**
 * Polls in SQLite.
 * @param read runs a read.
 */
export function pollStore(
  reads: ReturnType<typeof pollReads>,
  writer: Writer,
  read: <T>(run: () => T) => T,
): PollStore {
  return {
    get: async (...args) => read(() => reads.get(...args)),
    list: async (...args) => read(() => reads.list(...args)),
    ballots: async (...args) => read(() => reads.ballots(...args)),
    voters: async (...args) => read(() => reads.voters(...args)),
    create: (worldId, room, draft) =>
      writer.run("createPoll", worldId, room, draft),
    async update(worldId, room, id, changes, user) {
      const { delivery: row, ...result } = await writer.run(
        "updatePoll",
        worldId,
        room,
        id,
        changes,
        user,
      );
      if (!row) return result;
      return { ...result, delivery: toDeliveries(room, [row])[0]! };
    },
    delete: (worldId, room, id) => writer.run("deletePoll", worldId, room, id),
    vote: (worldId, room, id, user, options) =>
      writer.run("votePoll", worldId, room, id, user, options),
    pin: (worldId, room, id) => writer.run("pinPoll", worldId, room, id),
  };
}
