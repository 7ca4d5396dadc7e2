import type { Connection } from "../engine/connection.js";

/** A random tag, as `Draft.newTag` draws them. */
const TAG = "max(1, random() & 0x7fffffffffff)";

/** Milliseconds since 1970. */
const NOW = "CAST(1000 * unixepoch('subsec') AS INTEGER)";

/** Begins the log of each world that has none. @param lastId the last id of an event of any world. */
export const beginning = (lastId: string) => /* sql */ `
INSERT INTO log (world_id, seq, tag, at, type, author, detail)
  SELECT id, 1 + ${lastId}, ${TAG}, ${NOW}, 'log.began', '{"kind":"server"}', '{}'
    FROM worlds WHERE id NOT IN (SELECT world_id FROM log_heads)
  UNION ALL SELECT '', 1, ${TAG}, ${NOW}, 'log.began', '{"kind":"server"}', '{}'
    WHERE '' NOT IN (SELECT world_id FROM log_heads);
INSERT INTO log_heads (world_id, seq, tag)
  SELECT world_id, seq, tag FROM log
  WHERE type = 'log.began' AND world_id NOT IN (SELECT world_id FROM log_heads);
`;

/** Begins the logs of an older backup. @param lastId the last id of an event of any world. */
export function beginLogs(db: Connection, lastId: number): void {
  db.exec(beginning(`${lastId}`));
}

export default /* sql */ `
-- The last entry in the log of each world. It outlives the world, so that a number is
-- never given again. The empty id stands for all worlds.
CREATE TABLE log_heads (
  world_id TEXT NOT NULL PRIMARY KEY,
  seq INTEGER NOT NULL,
  -- Random. The same number has another tag in another history.
  tag INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What writes changed, unless it is an event of chat, which is an entry by itself.
--
-- Rows are appended, and nothing changes its size. So SQLite moves no row to another page,
-- where its erased bytes would stay.
CREATE TABLE log (
  number INTEGER PRIMARY KEY,
  world_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  tag INTEGER NOT NULL,
  -- In milliseconds since 1970.
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  -- JSON. Both hold no more than ids and rules.
  author TEXT NOT NULL,
  detail TEXT NOT NULL,
  -- JSON of what was hidden; once erased, a blob of zero bytes of the same length.
  data ANY
) STRICT;
CREATE UNIQUE INDEX log_by_seq ON log (world_id, seq);
CREATE INDEX log_with_data ON log (world_id, number) WHERE typeof(data) = 'text';

-- The log of a world begins behind all events of chat that there ever were. Until now,
-- they were numbered over all worlds.
${beginning("coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'chat_events'), 0)")}

-- Commands beside a server write the log, too.
DROP TABLE world_changes;

ALTER TABLE chat_events RENAME TO old_chat_events;
-- All events of all worlds.
--
-- Rows are appended. Nothing here may change its size, and no single row may be deleted:
-- SQLite then moves other rows to other pages, and their old bytes stay behind. So a text
-- is erased by overwriting it with as many zero bytes, and both flags take no space.
CREATE TABLE chat_events (
  number INTEGER PRIMARY KEY,
  world_id TEXT NOT NULL,
  -- The number of its entry in the log of the world.
  id INTEGER NOT NULL,
  -- The tag of that entry; 0 if it is older than the log.
  tag INTEGER NOT NULL,
  -- The number of the channel. No foreign key: a channel is deleted before its events.
  channel INTEGER NOT NULL,
  -- 0 for a message, 1 for a member event, 2 for a poll.
  type INTEGER NOT NULL,
  sender TEXT,
  -- In milliseconds since 1970.
  timestamp INTEGER NOT NULL,
  -- The message that this one edits or deletes; never itself one that does.
  replaces INTEGER,
  -- Whether the content is erased, and clients see that a message was deleted.
  deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
  -- Whether the event is over, as if it had never been. Its content is erased, too.
  gone INTEGER NOT NULL DEFAULT 0 CHECK (gone IN (0, 1)),
  -- JSON; once erased or replaced, a blob of zero bytes of the same length.
  content ANY NOT NULL,
  -- Who acted, as in the log; NULL if it is the sender. It holds no more than ids.
  author TEXT
) STRICT;
-- What is over is left out, and with it what deleted channels have left.
INSERT INTO chat_events
    (number, world_id, id, tag, channel, type, sender, timestamp, replaces, deleted, content)
  SELECT e.id, c.world_id, e.id, 0, e.channel, e.type, e.sender, e.timestamp, e.replaces, e.deleted, e.content
  FROM old_chat_events AS e CROSS JOIN chat_channels AS c ON c.number = e.channel
  WHERE e.gone = 0 ORDER BY e.id;
DROP TABLE old_chat_events;
DELETE FROM chat_remains;
CREATE UNIQUE INDEX chat_events_by_id ON chat_events (world_id, id);
CREATE INDEX chat_events_by_channel ON chat_events (channel, id) WHERE gone = 0;
-- Thousands may join before the first message.
CREATE INDEX chat_events_but_members ON chat_events (channel, id) WHERE gone = 0 AND type != 1;
CREATE INDEX chat_events_by_replaced ON chat_events (channel, replaces) WHERE replaces IS NOT NULL;

ALTER TABLE chat_edits RENAME TO old_chat_edits;
-- The last edit of each message that was edited or deleted. Its content is that of the edit.
CREATE TABLE chat_edits (
  world_id TEXT NOT NULL,
  event INTEGER NOT NULL,
  edit INTEGER NOT NULL,
  PRIMARY KEY (world_id, event)
) STRICT, WITHOUT ROWID;
INSERT INTO chat_edits (world_id, event, edit)
  SELECT e.world_id, e.id, t.edit FROM old_chat_edits AS t JOIN chat_events AS e ON e.number = t.event;
DROP TABLE old_chat_edits;

ALTER TABLE chat_reactions RENAME TO old_chat_reactions;
CREATE TABLE chat_reactions (
  -- Counts up, so that the first reaction comes first.
  number INTEGER PRIMARY KEY,
  world_id TEXT NOT NULL,
  event INTEGER NOT NULL,
  reaction TEXT NOT NULL,
  user_id TEXT NOT NULL
) STRICT;
INSERT INTO chat_reactions (number, world_id, event, reaction, user_id)
  SELECT t.number, e.world_id, e.id, t.reaction, t.user_id
  FROM old_chat_reactions AS t JOIN chat_events AS e ON e.number = t.event;
DROP TABLE old_chat_reactions;
CREATE UNIQUE INDEX chat_reactions_by_event ON chat_reactions (world_id, event, reaction, user_id);
`;
