import type { PollStore } from "../../contract/polls.js";
import type { Database } from "../engine/database.js";
import { ballotsOf, getPoll, listPolls, votersOf } from "./poll-reads.js";
import { votePoll } from "./poll-votes.js";
import { createPoll, deletePoll, pinPoll, updatePoll } from "./poll-writes.js";

/** Polls in PostgreSQL. */
export const pollStore = (db: Database): PollStore => ({
  get: (...args) => getPoll(db.sql, ...args),
  list: (...args) => listPolls(db.sql, ...args),
  ballots: (...args) => ballotsOf(db.sql, ...args),
  voters: (...args) => votersOf(db.sql, ...args),
  create: (worldId, room, draft, by) =>
    db.write(
      worldId,
      (sql, log) => createPoll(sql, log, worldId, room, draft),
      by,
    ),
  update: (worldId, room, id, changes, user, by) =>
    db.write(
      worldId,
      (sql, log) => updatePoll(sql, log, worldId, room, id, changes, user),
      by,
    ),
  delete: (worldId, room, id, by) =>
    db.write(
      worldId,
      (sql, log) => deletePoll(sql, log, worldId, room, id),
      by,
    ),
  vote: (worldId, room, id, user, options, by) =>
    db.write(
      worldId,
      (sql, log) => votePoll(sql, log, worldId, room, id, user, options),
      by,
    ),
  pin: (worldId, room, id, user, by) =>
    db.write(
      worldId,
      (sql, log) => pinPoll(sql, log, worldId, room, id, user),
      by,
    ),
});
