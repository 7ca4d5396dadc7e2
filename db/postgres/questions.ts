import type { QuestionStore } from "../questions.js";
import type { Database } from "./database.js";
import { getQuestion, listQuestions, seenQuestions } from "./question-reads.js";
import {
  askQuestion,
  deleteQuestion,
  pinQuestion,
  updateQuestion,
  voteQuestion,
} from "./question-writes.js";

/** Questions in PostgreSQL. */
export const questionStore = (db: Database): QuestionStore => ({
  get: (...args) => getQuestion(db.sql, ...args),
  seen: (...args) => seenQuestions(db.sql, ...args),
  list: (...args) => listQuestions(db.sql, ...args),
  ask: (worldId, room, draft) =>
    db.write(worldId, (sql) => askQuestion(sql, worldId, room, draft)),
  update: (worldId, room, id, changes, moderator) =>
    db.write(worldId, (sql, notes) =>
      updateQuestion(sql, notes, worldId, room, id, changes, moderator),
    ),
  delete: (worldId, room, id) =>
    db.write(worldId, (sql, notes) =>
      deleteQuestion(sql, notes, worldId, room, id),
    ),
  vote: (worldId, room, id, user, vote, all) =>
    db.write(worldId, (sql) =>
      voteQuestion(sql, worldId, room, id, user, vote, all),
    ),
  pin: (worldId, room, id, moderator) =>
    db.write(worldId, (sql) => pinQuestion(sql, worldId, room, id, moderator)),
});
