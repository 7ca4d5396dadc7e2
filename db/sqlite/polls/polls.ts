import type { PollStore } from "../../contract/polls.js";
import type { pollReads } from "./poll-reads.js";
import type { Writer } from "../engine/writer.js";

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
    create: (worldId, room, draft, by) =>
      writer.run("createPoll", by, worldId, room, draft),
    update: (worldId, room, id, changes, user, by) =>
      writer.run("updatePoll", by, worldId, room, id, changes, user),
    delete: (worldId, room, id, by) =>
      writer.run("deletePoll", by, worldId, room, id),
    vote: (worldId, room, id, user, options, by) =>
      writer.run("votePoll", by, worldId, room, id, user, options),
    pin: (worldId, room, id, user, by) =>
      writer.run("pinPoll", by, worldId, room, id, user),
  };
}
