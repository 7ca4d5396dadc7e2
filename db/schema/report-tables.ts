import {
  anyWorld,
  erasable,
  eventOrNull,
  flag,
  looseIdOf,
  number,
  numberOf,
  object,
  oneOf,
  table,
  text,
  time,
  timeOrNull,
  type SchemaPart,
} from "../copies/columns.js";

/** Tables for reports to the moderators. */
export const reportTables: SchemaPart = [
  /* sql */ `
-- Reported things. A thing that is reported after a decision is a new row.
CREATE TABLE reports (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  -- Counts up: the order of the first reports.
  number COUNTER,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('message', 'question', 'user')),
  -- NULL for direct messages, and for people who were not reported in a room.
  room_id TEXT,
  -- Of a message.
  channel TEXT,
  event BIGINT,
  -- Of a question.
  question TEXT,
  -- Who wrote it, or the person. NULL once the user is erased.
  user_id TEXT,
  -- Whether moderators learn who wrote it.
  named BIGINT NOT NULL CHECK (named IN (0, 1)),
  -- As it was when it was first reported.
  content TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'dismissed', 'deleted', 'silenced', 'banned')),
  reported_at BIGINT NOT NULL,
  resolved_at BIGINT,
  resolved_by TEXT,
  UNIQUE (world_id, number), -- sqlite
  PRIMARY KEY (world_id, number) -- postgres
);
CREATE INDEX reports_open ON reports (world_id, room_id, user_id) WHERE state = 'open';
CREATE INDEX reports_of_messages ON reports (world_id, event) WHERE event IS NOT NULL;
CREATE INDEX reports_of_questions ON reports (world_id, question) WHERE question IS NOT NULL;
CREATE INDEX reports_of_users ON reports (world_id, user_id) WHERE user_id IS NOT NULL;`,
  erasable(
    table("reports", "world_id number; id", "history", {
      number: number,
      world_id: text,
      id: text,
      kind: oneOf("message", "question", "user"),
      room_id: looseIdOf("rooms"),
      channel: looseIdOf("chat_channels"),
      event: eventOrNull,
      question: looseIdOf("questions"),
      user_id: looseIdOf("users"),
      named: flag,
      content: object,
      state: oneOf("open", "dismissed", "deleted", "silenced", "banned"),
      reported_at: time,
      resolved_at: timeOrNull,
      resolved_by: looseIdOf("users"),
    }),
  ),
  /* sql */ `
-- Who reported a thing, and why: once for each person. The author of an erased person's is NULL.
CREATE TABLE report_reasons (
  world_id TEXT NOT NULL,
  number COUNTER,
  report BIGINT NOT NULL,
  user_id TEXT,
  reason TEXT NOT NULL CHECK (reason IN ('spam', 'harassment', 'privacy', 'other')),
  content TEXT NOT NULL,
  reported_at BIGINT NOT NULL,
  PRIMARY KEY (world_id, number), -- postgres
  UNIQUE (world_id, report, user_id),
  FOREIGN KEY (world_id, report) REFERENCES reports (world_id, number) ON DELETE CASCADE
);
CREATE INDEX report_reasons_by_user ON report_reasons (world_id, user_id, reported_at)
  WHERE user_id IS NOT NULL;`,
  erasable(
    table("report_reasons", "world_id number; world_id report user_id", "history", {
      number: number,
      world_id: anyWorld,
      report: numberOf("reports"),
      user_id: looseIdOf("users"),
      reason: oneOf("spam", "harassment", "privacy", "other"),
      content: text,
      reported_at: time,
    }),
  ),
];
