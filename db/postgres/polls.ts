import type { PollStore } from "../polls.js";
import type { Database } from "./database.js";
import { ballotsOf, getPoll, listPolls, votersOf } from "./poll-reads.js";
import { votePoll } from "./poll-votes.js";
import { createPoll, deletePoll, pinPoll, updatePoll } from "./poll-writes.js";

/** Polls in PostgreSQL. */
export const pollStore = (db: Database): PollStore => ({
  get: (...args) => getPoll(db.sql, ...args),
  list: (...args) => listPolls(db.sql, ...args),
  ballots: (...args) => ballotsOf(db.sql, ...args),
  voters: (...args) => votersOf(db.sql, ...args),
  create: (worldId, room, draft) =>
    db.write(worldId, (sql) => createPoll(sql, worldId, room, draft)),
  update: (worldId, room, id, changes, user) =>
    db.write(worldId, (sql) =>
      updatePoll(sql, worldId, room, id, changes, user),
    ),
  delete: (worldId, room, id) =>
    db.write(worldId, (sql) => deletePoll(sql, worldId, room, id)),
  vote: (worldId, room, id, user, options) =>
    db.write(worldId, (sql) => votePoll(sql, worldId, room, id, user, options)),
  pin: (worldId, room, id) =>
    db.write(worldId, (sql) => pinPoll(sql, worldId, room, id)),
});
