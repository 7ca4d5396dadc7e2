import {
  anyWorld,
  erasable,
  event,
  eventOrNull,
  flag,
  idOf,
  looseId,
  looseIdOf,
  looseNumberOf,
  mark,
  markOrNull,
  number,
  numberOf,
  object,
  objectOrNull,
  table,
  text,
  textOrNull,
  time,
  type SchemaPart,
} from "../copies/columns.js";

/** Tables for chat: channels, events, reactions, members, read marks and notifications. */
export const chatTables: SchemaPart = [
  /* sql */ `
CREATE TABLE chat_channels (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  -- Never reused: the events of a deleted channel are erased later.
  number COUNTER AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  -- The ids of the members of a direct channel, sorted and joined by commas. NULL for a room.
  direct TEXT,
  -- The id of the last event, and of the last one that is no member event; 0 for none.
  last_event BIGINT NOT NULL DEFAULT 0,
  last_message BIGINT NOT NULL DEFAULT 0,
  -- Up to which id chat_words has the messages.
  searched BIGINT NOT NULL DEFAULT 0,
  UNIQUE (world_id, number) -- sqlite
  PRIMARY KEY (world_id, number) -- postgres
);
CREATE UNIQUE INDEX chat_channels_by_members ON chat_channels (world_id, digest(direct)) WHERE direct IS NOT NULL;`,
  table(
    "chat_channels",
    "world_id number; id; world_id direct",
    "history",
    {
      number: number,
      id: text,
      world_id: text,
      direct: textOrNull,
      last_event: mark,
      last_message: mark,
    },
    { searched: number },
  ),
  /* sql */ `
-- The events of chat, which are entries of the log.
--
-- In SQLite, rows are appended, nothing changes the size of a row, and no single row is deleted,
-- for the reason given for the log. An erased text is overwritten with as many zero bytes.
CREATE TABLE chat_events (
  world_id TEXT NOT NULL,
  -- Counts up in each channel. It stays the same as long as the row is there, which chat_words needs. -- sqlite
  number INTEGER PRIMARY KEY, -- sqlite
  -- The number of its entry in the log of the world.
  id BIGINT NOT NULL,
  -- The tag of that entry.
  tag BIGINT NOT NULL,
  -- The number of the channel. No foreign key: a channel is deleted before its events.
  channel BIGINT NOT NULL,
  -- 0 for a message, 1 for a member event, 2 for a poll.
  type BIGINT NOT NULL,
  sender TEXT,
  timestamp BIGINT NOT NULL,
  -- The message that this one edits or deletes; never itself one that does.
  replaces BIGINT,
  -- Whether the content is erased, and clients see that a message was deleted.
  deleted BIGINT NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
  -- Whether the event is removed. Its content is erased, too. PostgreSQL deletes such rows. -- sqlite
  gone BIGINT NOT NULL DEFAULT 0 CHECK (gone IN (0, 1)), -- sqlite
  -- JSON, until it is erased or replaced.
  content ANY NOT NULL, -- sqlite
  content TEXT, -- postgres
  -- Who acted, as in the log; NULL if it is the sender. It holds no more than ids.
  author TEXT,
  PRIMARY KEY (world_id, channel, id) -- postgres
);
CREATE UNIQUE INDEX chat_events_by_id ON chat_events (world_id, id); -- sqlite
-- By an expression, so that PostgreSQL never finds the last events of a small channel by reading
-- those of the whole world: it underestimates how many there are.
CREATE UNIQUE INDEX chat_events_by_id ON chat_events (world_id, (id + 0)); -- postgres
CREATE INDEX chat_events_by_channel ON chat_events (world_id, channel, id) WHERE gone = 0; -- sqlite
-- Thousands may join before the first message.
CREATE INDEX chat_events_but_members ON chat_events (world_id, channel, id) WHERE gone = 0 AND type != 1; -- sqlite
CREATE INDEX chat_events_but_members ON chat_events (world_id, channel, id) WHERE type <> 1; -- postgres
CREATE INDEX chat_events_by_replaced ON chat_events (world_id, channel, replaces) WHERE replaces IS NOT NULL; -- sqlite
CREATE INDEX chat_events_by_replaced ON chat_events (world_id, replaces) WHERE replaces IS NOT NULL; -- postgres
CREATE INDEX chat_events_by_sender ON chat_events (world_id, sender, id) WHERE sender IS NOT NULL AND type <> 1; -- postgres`,
  table("chat_events", "world_id id", "history", {
    id: event,
    world_id: anyWorld,
    channel: looseNumberOf("chat_channels"),
    type: { ...number, values: [0, 1, 2] },
    sender: looseIdOf("users"),
    timestamp: time,
    replaces: eventOrNull,
    deleted: flag,
    content: objectOrNull,
    tag: number,
    author: textOrNull,
  }),
  /* sql */ `
-- The words of the messages in channels that were searched, each with the number of the channel
-- before it. It follows from chat_events, so no copy of the database has it.
CREATE VIRTUAL TABLE chat_words USING fts5 (words, tokenize = 'ascii', detail = none, columnsize = 0); -- sqlite
CREATE TABLE chat_words ( -- postgres
  world_id TEXT NOT NULL, -- postgres
  event BIGINT NOT NULL, -- postgres
  words TSVECTOR NOT NULL, -- postgres
  PRIMARY KEY (world_id, event) -- postgres
); -- postgres
CREATE INDEX chat_words_by_word ON chat_words USING gin (words); -- postgres`,
  /* sql */ `
-- The last edit of each edited or deleted message, which replaces the content of the message.
CREATE TABLE chat_edits (
  world_id TEXT NOT NULL,
  event BIGINT NOT NULL,
  edit BIGINT NOT NULL,
  PRIMARY KEY (world_id, event)
) WITHOUT ROWID;`,
  table("chat_edits", "world_id event", "history", {
    world_id: anyWorld,
    event: event,
    edit: event,
  }),
  /* sql */ `
CREATE TABLE chat_reactions (
  world_id TEXT NOT NULL,
  -- Counts up, so that the first reaction is first.
  number COUNTER,
  event BIGINT NOT NULL,
  reaction TEXT NOT NULL,
  user_id TEXT NOT NULL,
  PRIMARY KEY (world_id, event, reaction, user_id) -- postgres
);
CREATE UNIQUE INDEX chat_reactions_by_event ON chat_reactions (world_id, event, reaction, user_id); -- sqlite`,
  table("chat_reactions", "world_id event reaction user_id", "history", {
    number: number,
    world_id: anyWorld,
    event: event,
    reaction: text,
    user_id: looseId("users"),
  }),
  /* sql */ `
CREATE TABLE chat_members (
  world_id TEXT NOT NULL,
  -- Counts up in the order of joining.
  number COUNTER,
  channel BIGINT NOT NULL,
  user_id TEXT NOT NULL,
  -- Whether the user has hidden this direct channel until its next message.
  hidden BIGINT NOT NULL DEFAULT 0 CHECK (hidden IN (0, 1)),
  PRIMARY KEY (world_id, channel, user_id), -- postgres
  FOREIGN KEY (world_id, channel) REFERENCES chat_channels (world_id, number) ON DELETE CASCADE,
  FOREIGN KEY (world_id, user_id) REFERENCES users (world_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX chat_members_by_channel ON chat_members (world_id, channel, user_id); -- sqlite
CREATE INDEX chat_members_by_number ON chat_members (world_id, channel, number);
-- With all columns that the search by user needs: otherwise SQLite prefers the index before, which
-- has them, and reads all members of the world.
CREATE INDEX chat_members_by_user ON chat_members (world_id, user_id, number, channel);`,
  table("chat_members", "world_id channel user_id", "history", {
    number: number,
    world_id: anyWorld,
    channel: numberOf("chat_channels"),
    user_id: idOf("users"),
    hidden: flag,
  }),
  /* sql */ `
CREATE TABLE chat_readers (
  world_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  channel BIGINT NOT NULL,
  -- The id of the event that was marked as read last; NULL for none.
  pointer BIGINT,
  -- The id of the last event of the channel when the user was added to its unread list; NULL if
  -- the user is not on it. The first message after that event removes them.
  listed BIGINT,
  PRIMARY KEY (world_id, user_id, channel),
  FOREIGN KEY (world_id, channel) REFERENCES chat_channels (world_id, number) ON DELETE CASCADE,
  FOREIGN KEY (world_id, user_id) REFERENCES users (world_id, id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX chat_readers_by_channel ON chat_readers (world_id, channel);`,
  table("chat_readers", "world_id user_id channel", "history", {
    world_id: anyWorld,
    user_id: idOf("users"),
    channel: numberOf("chat_channels"),
    pointer: markOrNull,
    listed: markOrNull,
  }),
  /* sql */ `
CREATE TABLE chat_notifications (
  world_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  channel BIGINT NOT NULL,
  event BIGINT NOT NULL,
  PRIMARY KEY (world_id, user_id, channel, event),
  FOREIGN KEY (world_id, channel) REFERENCES chat_channels (world_id, number) ON DELETE CASCADE,
  FOREIGN KEY (world_id, user_id) REFERENCES users (world_id, id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX chat_notifications_by_channel ON chat_notifications (world_id, channel, event);`,
  table("chat_notifications", "world_id user_id channel event", "history", {
    world_id: anyWorld,
    user_id: idOf("users"),
    channel: numberOf("chat_channels"),
    event: event,
  }),
  /* sql */ `
-- Channels that were deleted while they had events, which are deleted in slices.
CREATE TABLE chat_remains (
  world_id TEXT NOT NULL,
  channel BIGINT NOT NULL,
  PRIMARY KEY (world_id, channel)
) WITHOUT ROWID;`,
  /* sql */ `
-- Messages that wait for a moderator. Nothing else reads them.
CREATE TABLE chat_held (
  world_id TEXT NOT NULL,
  -- Counts up: the order of sending.
  number COUNTER,
  id TEXT NOT NULL UNIQUE,
  room_id TEXT NOT NULL,
  sender TEXT NOT NULL,
  -- The message that an edit will replace.
  replaces BIGINT,
  content TEXT NOT NULL,
  timestamp BIGINT NOT NULL,
  UNIQUE (world_id, number), -- sqlite
  PRIMARY KEY (world_id, number), -- postgres
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE,
  FOREIGN KEY (world_id, sender) REFERENCES users (world_id, id) ON DELETE CASCADE
);
CREATE INDEX chat_held_by_room ON chat_held (world_id, room_id, number);
CREATE INDEX chat_held_by_sender ON chat_held (world_id, sender, room_id);`,
  erasable(
    table("chat_held", "world_id number; id", "none", {
      number: number,
      world_id: anyWorld,
      id: text,
      room_id: idOf("rooms"),
      sender: idOf("users"),
      replaces: eventOrNull,
      content: object,
      timestamp: time,
    }),
  ),
  /* sql */ `
-- When each person last wrote in a room with slow mode.
CREATE TABLE chat_paces (
  world_id TEXT NOT NULL,
  room_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  sent_at BIGINT NOT NULL,
  PRIMARY KEY (world_id, room_id, user_id),
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE,
  FOREIGN KEY (world_id, user_id) REFERENCES users (world_id, id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX chat_paces_by_user ON chat_paces (world_id, user_id);`,
  table("chat_paces", "world_id room_id user_id", "none", {
    world_id: anyWorld,
    room_id: idOf("rooms"),
    user_id: idOf("users"),
    sent_at: time,
  }),
];
