import {
  anyWorld,
  erasable,
  idOf,
  number,
  table,
  text,
  textOrNull,
  type SchemaPart,
} from "../copies/columns.js";

/** Tables for the logs of all worlds, the audit and pending erasures. */
export const logTables: SchemaPart = [
  /* sql */ `
-- The last entry in the log of each world. It outlives the world, so that a number is never
-- reused. The empty id stands for all worlds.
CREATE TABLE log_heads (
  world_id TEXT NOT NULL PRIMARY KEY,
  seq BIGINT NOT NULL,
  -- Random. The same number has another tag in another history.
  tag BIGINT NOT NULL,
  -- The last entry that was removed because of its age. A reader with an earlier cursor has
  -- missed something.
  pruned BIGINT NOT NULL DEFAULT 0
) WITHOUT ROWID;
ALTER TABLE log_heads SET (fillfactor = 50); -- postgres`,
  table("log_heads", "world_id", "none", {
    world_id: anyWorld,
    seq: number,
    tag: number,
    pruned: number,
  }),
  /* sql */ `
-- What writes changed, except events of chat, which are entries themselves.
--
-- In SQLite, rows are appended, and no update changes the size of a row: it would move other rows
-- to other pages, where their erased bytes would stay.
CREATE TABLE log (
  world_id TEXT NOT NULL,
  seq BIGINT NOT NULL,
  tag BIGINT NOT NULL,
  at BIGINT NOT NULL,
  type TEXT NOT NULL,
  -- JSON. Both hold no more than ids and rules.
  author TEXT NOT NULL,
  detail TEXT NOT NULL,
  -- JSON of what was hidden, until it is erased.
  data ERASABLE,
  -- The type of the entry in the audit; null if the audit does not have it.
  audit ERASABLE,
  -- JSON of the fields that it changed, with their values before and after, without secrets.
  changes ERASABLE,
  -- The id of the request or of the connection.
  request ERASABLE,
  PRIMARY KEY (world_id, seq) -- postgres
);
CREATE UNIQUE INDEX log_by_seq ON log (world_id, seq); -- sqlite
CREATE INDEX log_with_data ON log (world_id) WHERE typeof(data) = 'text'; -- sqlite
CREATE INDEX log_with_data ON log (world_id) WHERE data IS NOT NULL; -- postgres
CREATE INDEX log_audited ON log (world_id, seq) WHERE audit IS NOT NULL;`,
  table(
    "log",
    "world_id seq",
    "none",
    {
      world_id: anyWorld,
      seq: number,
      tag: number,
      at: number,
      type: text,
      author: text,
      detail: text,
      audit: textOrNull,
      changes: textOrNull,
      request: textOrNull,
    },
    { data: textOrNull },
  ),
  /* sql */ `
-- The entries of the audit that are older than the log.
CREATE TABLE log_kept (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  seq BIGINT NOT NULL,
  at BIGINT NOT NULL,
  type TEXT NOT NULL,
  author TEXT NOT NULL,
  detail TEXT NOT NULL,
  audit TEXT NOT NULL,
  changes TEXT NOT NULL,
  request TEXT,
  PRIMARY KEY (world_id, seq)
);`,
  erasable(
    table("log_kept", "world_id seq", "none", {
      world_id: idOf("worlds"),
      seq: number,
      at: number,
      type: text,
      author: text,
      detail: text,
      audit: text,
      changes: text,
      request: textOrNull,
    }),
  ),
  /* sql */ `
-- What was erased and may still have bytes in the files of the database.
CREATE TABLE erasures (
  -- Never reused: a job deletes those that it has read before.
  number COUNTER AUTOINCREMENT,
  -- The table whose pages may hold the bytes. In SQLite also 'wal': the write-ahead log.
  subject TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (number) -- postgres
);`,
];
