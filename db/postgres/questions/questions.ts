import type { QuestionStore } from "../../contract/questions.js";
import type { Database } from "../engine/database.js";
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
  create: (worldId, room, draft, by) =>
    db.write(
      worldId,
      (sql, log) => askQuestion(sql, log, worldId, room, draft),
      by,
    ),
  update: (worldId, room, id, changes, moderator, by) =>
    db.write(
      worldId,
      (sql, log) =>
        updateQuestion(sql, log, worldId, room, id, changes, moderator),
      by,
    ),
  delete: (worldId, room, id, by) =>
    db.write(
      worldId,
      (sql, log) => deleteQuestion(sql, log, worldId, room, id),
      by,
    ),
  vote: (worldId, room, id, user, vote, all, by) =>
    db.write(
      worldId,
      (sql, log) => voteQuestion(sql, log, worldId, room, id, user, vote, all),
      by,
    ),
  pin: (worldId, room, id, moderator, by) =>
    db.write(
      worldId,
      (sql, log) => pinQuestion(sql, log, worldId, room, id, moderator),
      by,
    ),
});
