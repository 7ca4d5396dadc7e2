import type { QuestionStore } from "../../contract/questions.js";
import type { questionReads } from "./question-reads.js";
import type { Writer } from "../engine/writer.js";

/**
 * Questions in SQLite.
 * @param read runs a read.
 * @param erasing runs a write whose old bytes have to leave the log.
 */
export function questionStore(
  reads: ReturnType<typeof questionReads>,
  writer: Writer,
  read: <T>(run: () => T) => T,
  erasing: <T>(write: () => Promise<T>) => Promise<T>,
): QuestionStore {
  return {
    get: async (...args) => read(() => reads.get(...args)),
    seen: async (...args) => read(() => reads.seen(...args)),
    list: async (...args) => read(() => reads.list(...args)),
    create: (worldId, room, draft, by) =>
      writer.run("askQuestion", by, worldId, room, draft),
    update(worldId, room, id, changes, moderator, by) {
      const update = () =>
        writer.run("updateQuestion", by, worldId, room, id, changes, moderator);
      return changes.content === undefined ? update() : erasing(update);
    },
    delete: (worldId, room, id, by) =>
      erasing(() => writer.run("deleteQuestion", by, worldId, room, id)),
    vote: (worldId, room, id, user, vote, all, by) =>
      writer.run("voteQuestion", by, worldId, room, id, user, vote, all),
    pin: (worldId, room, id, moderator, by) =>
      writer.run("pinQuestion", by, worldId, room, id, moderator),
  };
}
