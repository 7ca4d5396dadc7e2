import { beginning } from "./0010-log.js";

// Written by `npm run tables`.

/**
 * Makes a new database as the first migrations leave it. All of them would take 30 ms of a first
 * start, as they change the tables again and again.
 */
export const newDatabase = {
  /** How many migrations it stands for. */
  version: 24,
  sql: /* sql */ `
CREATE TABLE worlds (
  id TEXT NOT NULL PRIMARY KEY,
  title TEXT NOT NULL,
  config TEXT NOT NULL,
  permission_config TEXT NOT NULL,
  domain TEXT NOT NULL UNIQUE,
  revision INTEGER NOT NULL DEFAULT 1
, file_bytes INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE log_heads (
  world_id TEXT NOT NULL PRIMARY KEY,
  seq INTEGER NOT NULL,
  -- Random. The same number has another tag in another history.
  tag INTEGER NOT NULL
, pruned INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
CREATE TABLE chat_edits (
  world_id TEXT NOT NULL,
  event INTEGER NOT NULL,
  edit INTEGER NOT NULL,
  PRIMARY KEY (world_id, event)
) STRICT, WITHOUT ROWID;
CREATE TABLE world_issuers (
      world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
      issuer TEXT NOT NULL,
      audience TEXT NOT NULL,
      PRIMARY KEY (world_id, issuer, audience)
    ) STRICT, WITHOUT ROWID;
CREATE TABLE view_groups (
      world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
      id INTEGER PRIMARY KEY,
      rule TEXT NOT NULL,
      rooms INTEGER NOT NULL,
      UNIQUE (world_id, id),
      UNIQUE (world_id, rule)
    ) STRICT;
CREATE TABLE rooms (
      world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
      id TEXT NOT NULL UNIQUE,
      view_group INTEGER NOT NULL,
      name TEXT NOT NULL,
      description TEXT NOT NULL,
      module_config TEXT NOT NULL,
      permission_config TEXT NOT NULL,
      sorting_priority INTEGER NOT NULL,
      domain TEXT,
      -- Name and description without differences of case, for search.
      name_folded TEXT NOT NULL,
      description_folded TEXT NOT NULL,
      -- JSON of the fields that only the live layer shows, without those that have
      -- their default. NULL if all have it.
      extras TEXT,
      revision INTEGER NOT NULL DEFAULT 1,
      PRIMARY KEY (world_id, id),
      FOREIGN KEY (world_id, view_group) REFERENCES view_groups (world_id, id) ON DELETE CASCADE
    ) STRICT;
CREATE TABLE room_modules (
      world_id TEXT NOT NULL,
      room_id TEXT NOT NULL,
      type TEXT NOT NULL,
      PRIMARY KEY (world_id, room_id, type),
      FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID;
CREATE TABLE users (
      world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
      id TEXT NOT NULL UNIQUE,
      token_id TEXT,
      client_id TEXT,
      profile TEXT,
      traits TEXT,
      -- In milliseconds since 1970.
      last_seen INTEGER NOT NULL,
      moderation_state TEXT NOT NULL DEFAULT '' CHECK (moderation_state IN ('', 'silenced', 'banned')),
      -- A JSON object; NULL if it is empty.
      client_state TEXT,
      pretalx_id TEXT,
      last_login INTEGER,
      -- The display name and the text fields of the profile without differences of case, for search.
      display_name_folded TEXT NOT NULL DEFAULT '',
      fields_folded TEXT NOT NULL DEFAULT '',
      PRIMARY KEY (world_id, id)
    ) STRICT;
CREATE TABLE blocks (
      world_id TEXT NOT NULL,
      user_id TEXT NOT NULL,
      blocked_id TEXT NOT NULL,
      PRIMARY KEY (world_id, user_id, blocked_id),
      FOREIGN KEY (world_id, user_id) REFERENCES users (world_id, id) ON DELETE CASCADE,
      FOREIGN KEY (world_id, blocked_id) REFERENCES users (world_id, id) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID;
CREATE TABLE files (
      world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
      -- Counts up: of files with the same time, it tells which is newer.
      number INTEGER PRIMARY KEY,
      key TEXT NOT NULL UNIQUE,
      -- NULL once the user is erased. Users are only deleted with their world.
      user_id TEXT,
      size INTEGER NOT NULL,
      sha256 TEXT NOT NULL,
      created INTEGER NOT NULL
    ) STRICT;
CREATE TABLE announcements (
      world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
      -- Counts up, so that the oldest comes first.
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      text TEXT NOT NULL,
      show_until INTEGER,
      state TEXT NOT NULL CHECK (state IN ('draft', 'active', 'archived'))
    ) STRICT;
CREATE TABLE chat_channels (
      world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
      -- Never given again: the events of a deleted channel are erased later.
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      -- The ids of the members of a direct channel, sorted and joined by commas. NULL for a room.
      direct TEXT,
      -- The id of the last event, and of the last one that is no member event; 0 for none.
      last_event INTEGER NOT NULL DEFAULT 0,
      last_message INTEGER NOT NULL DEFAULT 0,
      UNIQUE (world_id, number)
    ) STRICT;
CREATE TABLE chat_events (
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
CREATE TABLE chat_reactions (
      world_id TEXT NOT NULL,
      -- Counts up, so that the first reaction comes first.
      number INTEGER PRIMARY KEY,
      event INTEGER NOT NULL,
      reaction TEXT NOT NULL,
      user_id TEXT NOT NULL
    ) STRICT;
CREATE TABLE chat_members (
      world_id TEXT NOT NULL,
      -- Counts up, so that the order is that of joining.
      number INTEGER PRIMARY KEY,
      channel INTEGER NOT NULL,
      user_id TEXT NOT NULL,
      -- Whether the user has put away this direct channel until its next message.
      hidden INTEGER NOT NULL DEFAULT 0 CHECK (hidden IN (0, 1)),
      FOREIGN KEY (world_id, channel) REFERENCES chat_channels (world_id, number) ON DELETE CASCADE,
      FOREIGN KEY (world_id, user_id) REFERENCES users (world_id, id) ON DELETE CASCADE
    ) STRICT;
CREATE TABLE chat_readers (
      world_id TEXT NOT NULL,
      user_id TEXT NOT NULL,
      channel INTEGER NOT NULL,
      -- The id of the event that was marked as read last; NULL for none.
      pointer INTEGER,
      -- The id of the last event of the channel when the user came onto its unread list;
      -- NULL if the user is not on it. The first message after that event takes them off.
      listed INTEGER,
      PRIMARY KEY (world_id, user_id, channel),
      FOREIGN KEY (world_id, channel) REFERENCES chat_channels (world_id, number) ON DELETE CASCADE,
      FOREIGN KEY (world_id, user_id) REFERENCES users (world_id, id) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID;
CREATE TABLE chat_notifications (
      world_id TEXT NOT NULL,
      user_id TEXT NOT NULL,
      channel INTEGER NOT NULL,
      event INTEGER NOT NULL,
      PRIMARY KEY (world_id, user_id, channel, event),
      FOREIGN KEY (world_id, channel) REFERENCES chat_channels (world_id, number) ON DELETE CASCADE,
      FOREIGN KEY (world_id, user_id) REFERENCES users (world_id, id) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID;
CREATE TABLE chat_remains (
      world_id TEXT NOT NULL,
      channel INTEGER NOT NULL,
      PRIMARY KEY (world_id, channel)
    ) STRICT, WITHOUT ROWID;
CREATE TABLE questions (
      world_id TEXT NOT NULL,
      -- Counts up, so that the order is that of asking.
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      room_id TEXT NOT NULL,
      -- NULL once the user is erased.
      sender TEXT,
      -- Who changed it last.
      moderator TEXT,
      content TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('mod_queue', 'visible', 'archived')),
      answered INTEGER NOT NULL DEFAULT 0 CHECK (answered IN (0, 1)),
      is_pinned INTEGER NOT NULL DEFAULT 0 CHECK (is_pinned IN (0, 1)),
      timestamp INTEGER NOT NULL,
      -- The number of its rows in question_votes.
      score INTEGER NOT NULL DEFAULT 0, named INTEGER NOT NULL DEFAULT 0 CHECK (named IN (0, 1)),
      UNIQUE (world_id, number),
      FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
    ) STRICT;
CREATE TABLE question_votes (
      world_id TEXT NOT NULL,
      number INTEGER PRIMARY KEY,
      question INTEGER NOT NULL,
      -- NULL once the user is erased: the vote still counts.
      user_id TEXT,
      FOREIGN KEY (world_id, question) REFERENCES questions (world_id, number) ON DELETE CASCADE
    ) STRICT;
CREATE TABLE polls (
      world_id TEXT NOT NULL,
      -- Counts up, so that the order is that of creation.
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      room_id TEXT NOT NULL,
      content TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('draft', 'open', 'closed', 'archived')),
      poll_type TEXT NOT NULL CHECK (poll_type IN ('choice', 'multi')),
      is_pinned INTEGER NOT NULL DEFAULT 0 CHECK (is_pinned IN (0, 1)),
      timestamp INTEGER NOT NULL,
      -- How often its ballots have changed.
      changed INTEGER NOT NULL DEFAULT 0,
      -- Of a closed or archived poll: JSON of the votes by the id of the option, as they were then.
      results TEXT CHECK ((results IS NOT NULL) = (state IN ('closed', 'archived'))),
      UNIQUE (world_id, number),
      FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
    ) STRICT;
CREATE TABLE poll_options (
      world_id TEXT NOT NULL,
      -- Counts up, so that the older of two with the same position comes first.
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      poll INTEGER NOT NULL,
      content TEXT NOT NULL,
      -- What clients call order.
      position INTEGER NOT NULL,
      -- The number of its rows in poll_votes.
      votes INTEGER NOT NULL DEFAULT 0,
      UNIQUE (world_id, number),
      FOREIGN KEY (world_id, poll) REFERENCES polls (world_id, number) ON DELETE CASCADE
    ) STRICT;
CREATE TABLE poll_ballots (
      world_id TEXT NOT NULL,
      number INTEGER PRIMARY KEY,
      poll INTEGER NOT NULL,
      -- NULL once the user is erased: the votes still count.
      user_id TEXT,
      -- What "changed" of the poll was when it changed last.
      changed INTEGER NOT NULL,
      UNIQUE (world_id, number),
      FOREIGN KEY (world_id, poll) REFERENCES polls (world_id, number) ON DELETE CASCADE
    ) STRICT;
CREATE TABLE poll_votes (
      world_id TEXT NOT NULL,
      ballot INTEGER NOT NULL,
      option INTEGER NOT NULL,
      PRIMARY KEY (world_id, ballot, option),
      FOREIGN KEY (world_id, ballot) REFERENCES poll_ballots (world_id, number) ON DELETE CASCADE,
      FOREIGN KEY (world_id, option) REFERENCES poll_options (world_id, number) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID;
CREATE TABLE log (
      world_id TEXT NOT NULL,
      seq INTEGER NOT NULL,
      tag INTEGER NOT NULL,
      at INTEGER NOT NULL,
      type TEXT NOT NULL,
      -- JSON. Both hold no more than ids and rules.
      author TEXT NOT NULL,
      detail TEXT NOT NULL,
      -- JSON of what was hidden; once erased, a blob of zero bytes of the same length.
      data ANY
    , audit ANY, changes ANY, request ANY) STRICT;
CREATE INDEX world_issuers_by_name ON world_issuers (issuer, audience);
CREATE INDEX rooms_by_priority ON rooms (world_id, sorting_priority, name, id, view_group);
CREATE INDEX rooms_by_falling_priority ON rooms (world_id, sorting_priority DESC, name, id, view_group);
CREATE INDEX rooms_by_name ON rooms (world_id, name, sorting_priority, id, view_group);
CREATE INDEX rooms_by_falling_name ON rooms (world_id, name DESC, sorting_priority, id, view_group);
CREATE INDEX rooms_by_view_group ON rooms (world_id, view_group);
CREATE UNIQUE INDEX users_by_token ON users (world_id, token_id) WHERE token_id IS NOT NULL;
CREATE UNIQUE INDEX users_by_client ON users (world_id, client_id) WHERE client_id IS NOT NULL;
CREATE INDEX users_by_last_seen ON users (world_id, last_seen DESC, id)
  WHERE token_id IS NOT NULL OR client_id IS NOT NULL;
CREATE INDEX users_by_pretalx ON users (world_id, pretalx_id) WHERE pretalx_id IS NOT NULL;
CREATE INDEX users_by_name ON users (world_id, display_name_folded, id, moderation_state)
  WHERE token_id IS NOT NULL OR client_id IS NOT NULL;
CREATE INDEX blocks_by_blocked ON blocks (world_id, blocked_id);
CREATE INDEX files_by_time ON files (world_id, created);
CREATE INDEX files_by_user ON files (world_id, user_id);
CREATE INDEX announcements_by_world ON announcements (world_id);
CREATE UNIQUE INDEX chat_channels_by_members ON chat_channels (world_id, direct) WHERE direct IS NOT NULL;
CREATE UNIQUE INDEX chat_events_by_id ON chat_events (world_id, id);
CREATE INDEX chat_events_by_channel ON chat_events (world_id, channel, id) WHERE gone = 0;
CREATE INDEX chat_events_but_members ON chat_events (world_id, channel, id) WHERE gone = 0 AND type != 1;
CREATE INDEX chat_events_by_replaced ON chat_events (world_id, channel, replaces) WHERE replaces IS NOT NULL;
CREATE UNIQUE INDEX chat_reactions_by_event ON chat_reactions (world_id, event, reaction, user_id);
CREATE UNIQUE INDEX chat_members_by_channel ON chat_members (world_id, channel, user_id);
CREATE INDEX chat_members_by_number ON chat_members (world_id, channel);
CREATE INDEX chat_members_by_user ON chat_members (world_id, user_id);
CREATE INDEX chat_readers_by_channel ON chat_readers (world_id, channel);
CREATE INDEX chat_notifications_by_channel ON chat_notifications (world_id, channel, event);
CREATE INDEX questions_by_room ON questions (world_id, room_id);
CREATE INDEX questions_visible ON questions (world_id, room_id) WHERE state = 'visible';
CREATE UNIQUE INDEX questions_pinned ON questions (world_id, room_id) WHERE is_pinned = 1;
CREATE INDEX questions_by_sender ON questions (world_id, sender, room_id) WHERE sender IS NOT NULL;
CREATE INDEX questions_by_moderator ON questions (world_id, moderator) WHERE moderator IS NOT NULL;
CREATE UNIQUE INDEX question_votes_by_user ON question_votes (world_id, user_id, question);
CREATE INDEX question_votes_by_question ON question_votes (world_id, question);
CREATE INDEX polls_by_room ON polls (world_id, room_id);
CREATE UNIQUE INDEX polls_pinned ON polls (world_id, room_id) WHERE is_pinned = 1;
CREATE INDEX poll_options_by_poll ON poll_options (world_id, poll, position);
CREATE UNIQUE INDEX poll_ballots_by_user ON poll_ballots (world_id, user_id, poll);
CREATE INDEX poll_ballots_by_change ON poll_ballots (world_id, poll, changed);
CREATE INDEX poll_votes_by_option ON poll_votes (world_id, option);
CREATE UNIQUE INDEX log_by_seq ON log (world_id, seq);
CREATE INDEX log_with_data ON log (world_id) WHERE typeof(data) = 'text';
CREATE TABLE programs (
  world_id TEXT NOT NULL PRIMARY KEY REFERENCES worlds (id) ON DELETE CASCADE,
  stamp TEXT NOT NULL,
  -- Renewed with the rules of the world and its rooms, and with the dates of the event.
  settings TEXT NOT NULL
) STRICT;
CREATE TABLE program_places (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  place TEXT NOT NULL,
  -- Renewed when something changes that is no draft; empty if nothing ever did.
  shown TEXT NOT NULL,
  -- Renewed with every change.
  changed TEXT NOT NULL,
  PRIMARY KEY (world_id, place)
) STRICT;
CREATE TABLE program_sessions (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  revision INTEGER NOT NULL,
  import_id TEXT,
  room_id TEXT,
  -- In milliseconds since 1970.
  starts_at INTEGER,
  ends_at INTEGER,
  state TEXT NOT NULL,
  title TEXT NOT NULL,
  -- JSON of the other fields.
  detail TEXT NOT NULL,
  PRIMARY KEY (world_id, id),
  UNIQUE (world_id, import_id)
) STRICT;
CREATE INDEX program_sessions_by_room ON program_sessions (world_id, room_id, starts_at);
CREATE TABLE program_speakers (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  revision INTEGER NOT NULL,
  import_id TEXT,
  user_id TEXT,
  picture TEXT,
  name TEXT NOT NULL,
  -- JSON of the other fields.
  detail TEXT NOT NULL,
  PRIMARY KEY (world_id, id),
  UNIQUE (world_id, import_id)
) STRICT;
CREATE TABLE program_favorites (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  -- Counts up: the order in which users marked sessions.
  number INTEGER PRIMARY KEY,
  user_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  UNIQUE (world_id, user_id, session_id)
) STRICT;
CREATE INDEX program_favorites_by_session ON program_favorites (world_id, session_id);
CREATE TABLE program_links (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  token TEXT NOT NULL,
  PRIMARY KEY (world_id, user_id),
  UNIQUE (world_id, token)
) STRICT;
CREATE TABLE webhooks (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  -- Counts up: the order of creation.
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  url TEXT NOT NULL,
  -- JSON: the types of entries that it gets.
  types TEXT NOT NULL,
  enabled INTEGER NOT NULL,
  description TEXT NOT NULL,
  -- In milliseconds since 1970, as are all times.
  created_at INTEGER NOT NULL,
  -- It signs. Beginning with whsec_.
  secret TEXT NOT NULL,
  -- Counts the changes of settings, so that the process that delivers notices them.
  revision INTEGER NOT NULL,
  -- The number of the last entry of the log that was delivered, or is not of its types.
  position INTEGER NOT NULL,
  delivered_at INTEGER,
  failing_since INTEGER,
  last_status INTEGER,
  last_error TEXT,
  next_try_at INTEGER,
  -- How often the next entry has failed.
  attempts INTEGER NOT NULL,
  -- The process that delivers. Its beats count up while it lives, so no clocks are compared.
  holder TEXT,
  beat INTEGER NOT NULL,
  UNIQUE (world_id, number)
) STRICT;
CREATE TABLE api_callers (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  token TEXT NOT NULL,
  token_id TEXT NOT NULL,
  -- Of the last write, in milliseconds since 1970.
  at INTEGER NOT NULL,
  PRIMARY KEY (world_id, token)
) STRICT;
CREATE TABLE attendance_counts (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  room_id TEXT NOT NULL,
  -- The minute, in milliseconds since 1970.
  at INTEGER NOT NULL,
  people INTEGER NOT NULL,
  PRIMARY KEY (world_id, room_id, at),
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX attendance_counts_by_time ON attendance_counts (world_id, at);
CREATE TABLE attendance_visits (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  room_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  -- The session that was on; empty for none.
  session_id TEXT NOT NULL,
  -- In milliseconds since 1970.
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  -- In milliseconds.
  duration INTEGER NOT NULL,
  PRIMARY KEY (world_id, room_id, user_id, session_id),
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX attendance_visits_by_user ON attendance_visits (world_id, user_id);
CREATE TABLE room_invites (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  room_id TEXT NOT NULL,
  token TEXT NOT NULL,
  -- In milliseconds since 1970.
  ends INTEGER NOT NULL,
  PRIMARY KEY (world_id, room_id),
  UNIQUE (world_id, token),
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
) STRICT;
CREATE TABLE push_keys (
  name TEXT PRIMARY KEY,
  public_key TEXT NOT NULL,
  private_key TEXT NOT NULL
) STRICT;
CREATE TABLE push_subscriptions (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  endpoint TEXT NOT NULL,
  user_id TEXT NOT NULL,
  p256dh TEXT NOT NULL,
  auth TEXT NOT NULL,
  -- In milliseconds since 1970.
  created INTEGER NOT NULL,
  PRIMARY KEY (world_id, endpoint)
) STRICT;
CREATE INDEX push_subscriptions_by_user ON push_subscriptions (world_id, user_id, created);
CREATE TABLE push_claims (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  -- In milliseconds since 1970.
  at INTEGER NOT NULL,
  PRIMARY KEY (world_id, name)
) STRICT;
CREATE INDEX push_claims_by_time ON push_claims (world_id, at);
CREATE INDEX log_audited ON log (world_id, seq) WHERE audit IS NOT NULL;
CREATE TABLE log_kept (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  author TEXT NOT NULL,
  detail TEXT NOT NULL,
  audit TEXT NOT NULL,
  changes TEXT NOT NULL,
  request TEXT,
  PRIMARY KEY (world_id, seq)
) STRICT;
${beginning("0")}`,
};
