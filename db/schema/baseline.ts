import { tag as newTag } from "../log/draft.js";

// The tables of release 0.1.0, for both engines. ./migrations.ts has the rules of this text.
//
// The world is the first column of every key: it is what a larger installation is split by. All
// text is compared by its code points. JSON is text, because the order of its names counts. Times
// are milliseconds since 1970.

export const baseline = /* sql */ `
-- For indexes: a PostgreSQL B-tree rejects keys longer than 2,700 bytes.
CREATE FUNCTION foyer_digest(text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE -- postgres
  RETURN sha256(convert_to($1, 'UTF8')); -- postgres
-- For checks only: PostgreSQL 16 is the first to know IS JSON.
CREATE FUNCTION foyer_is_json(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT AS $$ -- postgres
BEGIN -- postgres
  PERFORM $1::json; -- postgres
  RETURN TRUE; -- postgres
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN -- postgres
  RETURN FALSE; -- postgres
END $$; -- postgres

-- Every id that has rows. Without a row in \`worlds\`, it is of a world whose rows are being loaded or
-- removed, in slices: nobody sees it.
CREATE TABLE world_ids (
  id TEXT NOT NULL PRIMARY KEY,
  -- The time of the last slice; NULL if it has a row in \`worlds\`.
  touched BIGINT
);
CREATE INDEX world_ids_hidden ON world_ids (touched) WHERE touched IS NOT NULL;

CREATE TABLE worlds (
  id TEXT NOT NULL PRIMARY KEY REFERENCES world_ids (id) ON DELETE CASCADE,
  title TEXT NOT NULL,
  config TEXT NOT NULL,
  permission_config TEXT NOT NULL,
  domain TEXT NOT NULL UNIQUE,
  revision BIGINT NOT NULL DEFAULT 1,
  file_bytes BIGINT NOT NULL DEFAULT 0
);

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
ALTER TABLE log_heads SET (fillfactor = 50); -- postgres

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
CREATE INDEX log_audited ON log (world_id, seq) WHERE audit IS NOT NULL;

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
);

CREATE TABLE world_issuers (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  issuer TEXT NOT NULL,
  audience TEXT NOT NULL,
  PRIMARY KEY (world_id, issuer, audience) -- sqlite
) WITHOUT ROWID;
CREATE UNIQUE INDEX world_issuers_by_world ON world_issuers (world_id, digest(issuer), digest(audience)); -- postgres
CREATE INDEX world_issuers_by_name ON world_issuers (digest(issuer), digest(audience));

CREATE TABLE view_groups (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  id COUNTER,
  rule TEXT NOT NULL,
  rooms BIGINT NOT NULL,
  UNIQUE (world_id, id), -- sqlite
  UNIQUE (world_id, rule) -- sqlite
  PRIMARY KEY (world_id, id) -- postgres
);
CREATE UNIQUE INDEX view_groups_by_rule ON view_groups (world_id, digest(rule)); -- postgres

CREATE TABLE rooms (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  id TEXT NOT NULL UNIQUE,
  view_group BIGINT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  module_config TEXT NOT NULL,
  permission_config TEXT NOT NULL,
  sorting_priority BIGINT NOT NULL,
  domain TEXT,
  -- Name and description without differences of case, for search.
  name_folded TEXT NOT NULL,
  description_folded TEXT NOT NULL,
  -- JSON of the fields that only the live layer shows, without those that have their default.
  -- NULL if all have it.
  extras TEXT,
  revision BIGINT NOT NULL DEFAULT 1,
  PRIMARY KEY (world_id, id),
  FOREIGN KEY (world_id, view_group) REFERENCES view_groups (world_id, id) ON DELETE CASCADE
);
CREATE INDEX rooms_by_priority ON rooms (world_id, sorting_priority, name, id, view_group);
CREATE INDEX rooms_by_falling_priority ON rooms (world_id, sorting_priority DESC, name, id, view_group);
CREATE INDEX rooms_by_name ON rooms (world_id, name, sorting_priority, id, view_group);
CREATE INDEX rooms_by_falling_name ON rooms (world_id, name DESC, sorting_priority, id, view_group);
CREATE INDEX rooms_by_view_group ON rooms (world_id, view_group);
CREATE INDEX rooms_by_folded_name ON rooms (world_id, digest(name_folded));

CREATE TABLE room_modules (
  world_id TEXT NOT NULL,
  room_id TEXT NOT NULL,
  type TEXT NOT NULL,
  PRIMARY KEY (world_id, room_id, type), -- sqlite
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE UNIQUE INDEX room_modules_by_room ON room_modules (world_id, room_id, digest(type)); -- postgres

CREATE TABLE users (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  id TEXT NOT NULL UNIQUE,
  token_id TEXT,
  client_id TEXT,
  profile TEXT,
  traits TEXT,
  last_seen BIGINT NOT NULL,
  moderation_state TEXT NOT NULL DEFAULT '' CHECK (moderation_state IN ('', 'silenced', 'banned')),
  -- A JSON object; NULL if it is empty.
  client_state TEXT,
  pretalx_id TEXT,
  last_login BIGINT,
  -- The display name and the text fields of the profile without differences of case, for search.
  display_name_folded TEXT NOT NULL DEFAULT '',
  fields_folded TEXT NOT NULL DEFAULT '',
  created BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (world_id, id)
);
CREATE UNIQUE INDEX users_by_token ON users (world_id, digest(token_id)) WHERE token_id IS NOT NULL;
CREATE UNIQUE INDEX users_by_client ON users (world_id, digest(client_id)) WHERE client_id IS NOT NULL;
CREATE INDEX users_by_last_seen ON users (world_id, last_seen DESC, id)
  WHERE token_id IS NOT NULL OR client_id IS NOT NULL;
CREATE INDEX users_by_creation ON users (world_id, created, id)
  WHERE token_id IS NOT NULL OR client_id IS NOT NULL;
CREATE INDEX users_by_pretalx ON users (world_id, digest(pretalx_id)) WHERE pretalx_id IS NOT NULL;
CREATE INDEX users_by_name ON users (world_id, display_name_folded, id, moderation_state) -- sqlite
  WHERE token_id IS NOT NULL OR client_id IS NOT NULL; -- sqlite

CREATE TABLE blocks (
  world_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  blocked_id TEXT NOT NULL,
  PRIMARY KEY (world_id, user_id, blocked_id),
  FOREIGN KEY (world_id, user_id) REFERENCES users (world_id, id) ON DELETE CASCADE,
  FOREIGN KEY (world_id, blocked_id) REFERENCES users (world_id, id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX blocks_by_blocked ON blocks (world_id, blocked_id);

CREATE TABLE files (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  -- Counts up: of files with the same time, it says which is newer.
  number COUNTER,
  key TEXT NOT NULL UNIQUE,
  -- NULL once the user is erased. Users are only deleted with their world.
  user_id TEXT,
  size BIGINT NOT NULL,
  sha256 TEXT NOT NULL,
  created BIGINT NOT NULL,
  PRIMARY KEY (world_id, key) -- postgres
);
CREATE INDEX files_by_time ON files (world_id, created, number);
CREATE INDEX files_by_user ON files (world_id, user_id);

CREATE TABLE announcements (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  -- Counts up, so that the oldest is first.
  number COUNTER,
  id TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL,
  show_until BIGINT,
  state TEXT NOT NULL CHECK (state IN ('draft', 'active', 'archived')),
  PRIMARY KEY (world_id, number) -- postgres
);
CREATE INDEX announcements_by_world ON announcements (world_id); -- sqlite

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
CREATE UNIQUE INDEX chat_channels_by_members ON chat_channels (world_id, digest(direct)) WHERE direct IS NOT NULL;

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
CREATE INDEX chat_events_by_sender ON chat_events (world_id, sender, id) WHERE sender IS NOT NULL AND type <> 1; -- postgres

-- The words of the messages in channels that were searched, each with the number of the channel
-- before it. It follows from chat_events, so no copy of the database has it.
CREATE VIRTUAL TABLE chat_words USING fts5 (words, tokenize = 'ascii', detail = none, columnsize = 0); -- sqlite
CREATE TABLE chat_words ( -- postgres
  world_id TEXT NOT NULL, -- postgres
  event BIGINT NOT NULL, -- postgres
  words TSVECTOR NOT NULL, -- postgres
  PRIMARY KEY (world_id, event) -- postgres
); -- postgres
CREATE INDEX chat_words_by_word ON chat_words USING gin (words); -- postgres

-- The last edit of each edited or deleted message, which replaces the content of the message.
CREATE TABLE chat_edits (
  world_id TEXT NOT NULL,
  event BIGINT NOT NULL,
  edit BIGINT NOT NULL,
  PRIMARY KEY (world_id, event)
) WITHOUT ROWID;

CREATE TABLE chat_reactions (
  world_id TEXT NOT NULL,
  -- Counts up, so that the first reaction is first.
  number COUNTER,
  event BIGINT NOT NULL,
  reaction TEXT NOT NULL,
  user_id TEXT NOT NULL,
  PRIMARY KEY (world_id, event, reaction, user_id) -- postgres
);
CREATE UNIQUE INDEX chat_reactions_by_event ON chat_reactions (world_id, event, reaction, user_id); -- sqlite

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
CREATE INDEX chat_members_by_user ON chat_members (world_id, user_id, number, channel);

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
CREATE INDEX chat_readers_by_channel ON chat_readers (world_id, channel);

CREATE TABLE chat_notifications (
  world_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  channel BIGINT NOT NULL,
  event BIGINT NOT NULL,
  PRIMARY KEY (world_id, user_id, channel, event),
  FOREIGN KEY (world_id, channel) REFERENCES chat_channels (world_id, number) ON DELETE CASCADE,
  FOREIGN KEY (world_id, user_id) REFERENCES users (world_id, id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX chat_notifications_by_channel ON chat_notifications (world_id, channel, event);

-- What was erased and may still have bytes in the files of the database.
CREATE TABLE erasures (
  -- Never reused: a job deletes those that it has read before.
  number COUNTER AUTOINCREMENT,
  -- The table whose pages may hold the bytes. In SQLite also 'wal': the write-ahead log.
  subject TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (number) -- postgres
);

-- Channels that were deleted while they had events, which are deleted in slices.
CREATE TABLE chat_remains (
  world_id TEXT NOT NULL,
  channel BIGINT NOT NULL,
  PRIMARY KEY (world_id, channel)
) WITHOUT ROWID;

CREATE TABLE questions (
  world_id TEXT NOT NULL,
  -- Counts up in the order of asking. Never reused.
  number COUNTER AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  room_id TEXT NOT NULL,
  -- NULL once the user is erased.
  sender TEXT,
  -- Who changed it last.
  moderator TEXT,
  content TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('mod_queue', 'visible', 'archived')),
  answered BIGINT NOT NULL DEFAULT 0 CHECK (answered IN (0, 1)),
  is_pinned BIGINT NOT NULL DEFAULT 0 CHECK (is_pinned IN (0, 1)),
  timestamp BIGINT NOT NULL,
  -- The number of its rows in question_votes.
  score BIGINT NOT NULL DEFAULT 0,
  -- Whether readers learn who asked.
  named BIGINT NOT NULL DEFAULT 0 CHECK (named IN (0, 1)),
  UNIQUE (world_id, number), -- sqlite
  PRIMARY KEY (world_id, number), -- postgres
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
);
CREATE INDEX questions_by_room ON questions (world_id, room_id, number);
CREATE INDEX questions_visible ON questions (world_id, room_id, number) WHERE state = 'visible';
CREATE UNIQUE INDEX questions_pinned ON questions (world_id, room_id) WHERE is_pinned = 1;
CREATE INDEX questions_by_sender ON questions (world_id, sender, room_id) WHERE sender IS NOT NULL;
CREATE INDEX questions_by_moderator ON questions (world_id, moderator) WHERE moderator IS NOT NULL;

CREATE TABLE question_votes (
  world_id TEXT NOT NULL,
  number COUNTER,
  question BIGINT NOT NULL,
  -- NULL once the user is erased: the vote still counts.
  user_id TEXT,
  PRIMARY KEY (world_id, number), -- postgres
  FOREIGN KEY (world_id, question) REFERENCES questions (world_id, number) ON DELETE CASCADE
);
CREATE UNIQUE INDEX question_votes_by_user ON question_votes (world_id, user_id, question);
CREATE INDEX question_votes_by_question ON question_votes (world_id, question);

CREATE TABLE polls (
  world_id TEXT NOT NULL,
  -- Counts up in the order of creation.
  number COUNTER,
  id TEXT NOT NULL UNIQUE,
  room_id TEXT NOT NULL,
  content TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('draft', 'open', 'closed', 'archived')),
  poll_type TEXT NOT NULL CHECK (poll_type IN ('choice', 'multi')),
  is_pinned BIGINT NOT NULL DEFAULT 0 CHECK (is_pinned IN (0, 1)),
  timestamp BIGINT NOT NULL,
  -- How often its ballots have changed.
  changed BIGINT NOT NULL DEFAULT 0,
  -- Of a closed or archived poll: JSON of the votes by the id of the option, as they were then.
  results TEXT CHECK ((results IS NOT NULL) = (state IN ('closed', 'archived'))),
  UNIQUE (world_id, number), -- sqlite
  PRIMARY KEY (world_id, number), -- postgres
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
);
CREATE INDEX polls_by_room ON polls (world_id, room_id, number);
CREATE UNIQUE INDEX polls_pinned ON polls (world_id, room_id) WHERE is_pinned = 1;

CREATE TABLE poll_options (
  world_id TEXT NOT NULL,
  -- Counts up: orders options that share a position, oldest first.
  number COUNTER,
  id TEXT NOT NULL UNIQUE,
  poll BIGINT NOT NULL,
  content TEXT NOT NULL,
  -- What clients call order.
  position BIGINT NOT NULL,
  -- The number of its rows in poll_votes.
  votes BIGINT NOT NULL DEFAULT 0,
  UNIQUE (world_id, number), -- sqlite
  PRIMARY KEY (world_id, number), -- postgres
  FOREIGN KEY (world_id, poll) REFERENCES polls (world_id, number) ON DELETE CASCADE
);
CREATE INDEX poll_options_by_poll ON poll_options (world_id, poll, position, number);

CREATE TABLE poll_ballots (
  world_id TEXT NOT NULL,
  number COUNTER,
  poll BIGINT NOT NULL,
  -- NULL once the user is erased: the votes still count.
  user_id TEXT,
  -- The value of the poll's "changed" when the ballot changed last.
  changed BIGINT NOT NULL,
  UNIQUE (world_id, number), -- sqlite
  PRIMARY KEY (world_id, number), -- postgres
  FOREIGN KEY (world_id, poll) REFERENCES polls (world_id, number) ON DELETE CASCADE
);
CREATE UNIQUE INDEX poll_ballots_by_user ON poll_ballots (world_id, user_id, poll);
CREATE INDEX poll_ballots_by_change ON poll_ballots (world_id, poll, changed);

CREATE TABLE poll_votes (
  world_id TEXT NOT NULL,
  ballot BIGINT NOT NULL,
  option BIGINT NOT NULL,
  PRIMARY KEY (world_id, ballot, option),
  FOREIGN KEY (world_id, ballot) REFERENCES poll_ballots (world_id, number) ON DELETE CASCADE,
  FOREIGN KEY (world_id, option) REFERENCES poll_options (world_id, number) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX poll_votes_by_option ON poll_votes (world_id, option);

-- The program of each world that has had one. Stamps are random, and renewed with each change.
CREATE TABLE programs (
  world_id TEXT NOT NULL PRIMARY KEY REFERENCES world_ids (id) ON DELETE CASCADE,
  stamp TEXT NOT NULL,
  -- Renewed with the rules of the world and its rooms, and with the dates of the event.
  settings TEXT NOT NULL
);

-- The places of a program whose changes count apart: a room, no room (''), or 'speakers'.
CREATE TABLE program_places (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  place TEXT NOT NULL,
  -- Renewed when something changes that is no draft; empty if nothing ever did.
  shown TEXT NOT NULL,
  -- Renewed with every change.
  changed TEXT NOT NULL,
  PRIMARY KEY (world_id, place)
);

CREATE TABLE program_sessions (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  revision BIGINT NOT NULL,
  import_id TEXT,
  room_id TEXT,
  starts_at BIGINT,
  ends_at BIGINT,
  state TEXT NOT NULL,
  title TEXT NOT NULL,
  -- JSON of the other fields.
  detail TEXT NOT NULL,
  PRIMARY KEY (world_id, id),
  UNIQUE (world_id, import_id)
);
CREATE INDEX program_sessions_by_room ON program_sessions (world_id, room_id, starts_at);

CREATE TABLE program_speakers (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  revision BIGINT NOT NULL,
  import_id TEXT,
  user_id TEXT,
  picture TEXT,
  name TEXT NOT NULL,
  -- JSON of the other fields.
  detail TEXT NOT NULL,
  PRIMARY KEY (world_id, id),
  UNIQUE (world_id, import_id)
);

CREATE TABLE program_favorites (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  -- Counts up: the order in which users marked sessions.
  number COUNTER,
  user_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  UNIQUE (world_id, user_id, session_id)
);
CREATE INDEX program_favorites_by_session ON program_favorites (world_id, session_id);

-- The secret of each user in the address of a calendar.
CREATE TABLE program_links (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  token TEXT NOT NULL,
  PRIMARY KEY (world_id, user_id),
  UNIQUE (world_id, token)
);

-- Addresses that get each change of a world.
CREATE TABLE webhooks (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  -- Counts up: the order of creation.
  number COUNTER,
  id TEXT NOT NULL UNIQUE,
  url TEXT NOT NULL,
  -- JSON: the types of entries that it gets.
  types TEXT NOT NULL,
  enabled BIGINT NOT NULL,
  description TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  -- It signs. Beginning with whsec_.
  secret TEXT NOT NULL,
  -- Counts the changes of settings, so that the process that delivers notices them.
  revision BIGINT NOT NULL,
  -- The number of the last entry of the log that was delivered, or is not of its types.
  position BIGINT NOT NULL,
  delivered_at BIGINT,
  failing_since BIGINT,
  last_status BIGINT,
  last_error TEXT,
  next_try_at BIGINT,
  -- How often the next entry has failed.
  attempts BIGINT NOT NULL,
  -- The process that delivers. Its beats count up while it lives, so no clocks are compared.
  holder TEXT,
  beat BIGINT NOT NULL,
  UNIQUE (world_id, number)
);

-- The names in tokens of callers of the API who are no users of the world. The log and the audit
-- have only the digests, so a name is erased here.
CREATE TABLE api_callers (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  token TEXT NOT NULL,
  token_id TEXT NOT NULL,
  -- Of the last write.
  at BIGINT NOT NULL,
  PRIMARY KEY (world_id, token)
);

-- How many people were in a room, once a minute, if there were any.
CREATE TABLE attendance_counts (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  room_id TEXT NOT NULL,
  -- The minute.
  at BIGINT NOT NULL,
  people BIGINT NOT NULL,
  PRIMARY KEY (world_id, room_id, at),
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
);
CREATE INDEX attendance_counts_by_time ON attendance_counts (world_id, at);

-- When a user was in a room, where a world keeps it.
CREATE TABLE attendance_visits (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  room_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  -- The session that was on; empty for none.
  session_id TEXT NOT NULL,
  first BIGINT NOT NULL,
  last BIGINT NOT NULL,
  -- In milliseconds.
  duration BIGINT NOT NULL,
  PRIMARY KEY (world_id, room_id, user_id, session_id),
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
);
CREATE INDEX attendance_visits_by_user ON attendance_visits (world_id, user_id);

-- The secret of each room in the link for people without a name.
CREATE TABLE room_invites (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  room_id TEXT NOT NULL,
  token TEXT NOT NULL,
  ends BIGINT NOT NULL,
  PRIMARY KEY (world_id, room_id),
  UNIQUE (world_id, token),
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
);

-- The key with which this server signs for push services: one row.
CREATE TABLE push_keys (
  name TEXT NOT NULL PRIMARY KEY,
  public_key TEXT NOT NULL,
  private_key TEXT NOT NULL
);
-- The browsers that get messages while their page is closed.
CREATE TABLE push_subscriptions (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  endpoint TEXT NOT NULL,
  user_id TEXT NOT NULL,
  p256dh TEXT NOT NULL,
  auth TEXT NOT NULL,
  created BIGINT NOT NULL,
  PRIMARY KEY (world_id, endpoint)
);
CREATE INDEX push_subscriptions_by_user ON push_subscriptions (world_id, user_id, created);
-- The notifications that a process sends, so that no other process does.
CREATE TABLE push_claims (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (world_id, name)
);
CREATE INDEX push_claims_by_time ON push_claims (world_id, at);
`;

/** Begins the log of all worlds in a new database. */
export const beginIndex = (tag = newTag(), now = Date.now()): string => /* sql */ `
INSERT INTO log (world_id, seq, tag, at, type, author, detail)
  VALUES ('', 1, ${tag}, ${now}, 'log.began', '{"kind":"server"}', '{}');
INSERT INTO log_heads (world_id, seq, tag) VALUES ('', 1, ${tag});
`;
