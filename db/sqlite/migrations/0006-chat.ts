export default /* sql */ `
-- Chat. A room has the channel with its own id from the first write to it; the others
-- are direct channels, whose members never change.
CREATE TABLE chat_channels (
  -- Never given again: the events of a deleted channel are erased later.
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  -- The ids of the members of a direct channel, sorted and joined by commas. NULL for a room.
  direct TEXT,
  -- The id of the last event, and of the last one that is no member event; 0 for none.
  last_event INTEGER NOT NULL DEFAULT 0,
  last_message INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX chat_channels_by_world ON chat_channels (world_id);
CREATE UNIQUE INDEX chat_channels_by_members ON chat_channels (world_id, direct) WHERE direct IS NOT NULL;

-- All events of all worlds. Ids are given in the order of the commits and never again.
--
-- Nothing here may change its size, and no single row may be deleted: SQLite then moves
-- other rows to other pages, and their old bytes stay behind. So a text is erased by
-- overwriting it with as many zero bytes, and both flags take no space.
CREATE TABLE chat_events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
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
  content ANY NOT NULL
) STRICT;
CREATE INDEX chat_events_by_channel ON chat_events (channel, id) WHERE gone = 0;
-- Thousands may join before the first message.
CREATE INDEX chat_events_but_members ON chat_events (channel, id) WHERE gone = 0 AND type != 1;
CREATE INDEX chat_events_by_replaced ON chat_events (replaces) WHERE replaces IS NOT NULL;

-- The last edit of each message that was edited or deleted. Its content is that of the edit.
CREATE TABLE chat_edits (
  event INTEGER PRIMARY KEY,
  edit INTEGER NOT NULL
) STRICT;

CREATE TABLE chat_reactions (
  -- Counts up, so that the first reaction comes first.
  number INTEGER PRIMARY KEY,
  event INTEGER NOT NULL,
  reaction TEXT NOT NULL,
  user_id TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX chat_reactions_by_event ON chat_reactions (event, reaction, user_id);

-- The memberships that last. Volatile ones are only in memory.
CREATE TABLE chat_members (
  -- Counts up, so that the order is that of joining.
  number INTEGER PRIMARY KEY,
  channel INTEGER NOT NULL REFERENCES chat_channels (number) ON DELETE CASCADE,
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  -- Whether the user has put away this direct channel until its next message.
  hidden INTEGER NOT NULL DEFAULT 0 CHECK (hidden IN (0, 1))
) STRICT;
CREATE UNIQUE INDEX chat_members_by_channel ON chat_members (channel, user_id);
-- In the order of joining, because every index ends with the number.
CREATE INDEX chat_members_by_number ON chat_members (channel);
CREATE INDEX chat_members_by_user ON chat_members (user_id);

-- How far somebody has read, member or not.
CREATE TABLE chat_readers (
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  channel INTEGER NOT NULL REFERENCES chat_channels (number) ON DELETE CASCADE,
  -- The id of the event that was marked as read last; NULL for none.
  pointer INTEGER,
  -- The id of the last event of the channel when the user came onto its unread list;
  -- NULL if the user is not on it. The first message after that event takes them off.
  listed INTEGER,
  PRIMARY KEY (user_id, channel)
) STRICT, WITHOUT ROWID;
CREATE INDEX chat_readers_by_channel ON chat_readers (channel);

-- Who was told of a message, and has not marked it as read.
CREATE TABLE chat_notifications (
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  channel INTEGER NOT NULL REFERENCES chat_channels (number) ON DELETE CASCADE,
  event INTEGER NOT NULL,
  PRIMARY KEY (user_id, channel, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX chat_notifications_by_channel ON chat_notifications (channel, event);

-- Channels that were deleted while they had events. What is left of them is erased in slices.
CREATE TABLE chat_remains (
  channel INTEGER PRIMARY KEY
) STRICT;
`;
