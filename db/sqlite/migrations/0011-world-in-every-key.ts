/** A table as it becomes, and how its rows come from the old one, which is called `old_…`. */
interface Rebuilt {
  name: string;
  /** The columns, keys and references, and what follows the closing parenthesis. */
  columns: string;
  options?: string;
  /** The filled columns, and their values: a selection from the old table. */
  filled: string;
  from: string;
}

const WORLD = "world_id TEXT NOT NULL";
const OF_WORLD = `${WORLD} REFERENCES worlds (id) ON DELETE CASCADE`;
const WITHOUT_ROWID = "STRICT, WITHOUT ROWID";

const refers = (columns: string, table: string, key: string) =>
  `FOREIGN KEY (world_id, ${columns}) REFERENCES ${table} (world_id, ${key}) ON DELETE CASCADE`;
const OF_CHANNEL = refers("channel", "chat_channels", "number");
const OF_USER = refers("user_id", "users", "id");
const OF_ROOM = refers("room_id", "rooms", "id");

/** The rows of `t` with the world of a row that they refer to. */
const withWorldOf = (table: string, condition: string) =>
  `CROSS JOIN ${table} AS w ON ${condition}`;
const IN_CHANNEL = withWorldOf("chat_channels", "w.number = t.channel");
const IN_ROOM = withWorldOf("rooms", "w.id = t.room_id");
/** Leaves out what refers to a user of another world, which no write has ever made. */
const KNOWN =
  "EXISTS (SELECT 1 FROM users WHERE world_id = w.world_id AND id = t.user_id)";

// In the order of the references.
const TABLES: readonly Rebuilt[] = [
  {
    name: "world_issuers",
    columns: `${OF_WORLD},
      issuer TEXT NOT NULL,
      audience TEXT NOT NULL,
      PRIMARY KEY (world_id, issuer, audience)`,
    options: WITHOUT_ROWID,
    filled: "world_id, issuer, audience",
    from: "old_world_issuers",
  },
  {
    name: "view_groups",
    columns: `${OF_WORLD},
      id INTEGER PRIMARY KEY,
      rule TEXT NOT NULL,
      rooms INTEGER NOT NULL,
      UNIQUE (world_id, id),
      UNIQUE (world_id, rule)`,
    filled: "world_id, id, rule, rooms",
    from: "old_view_groups",
  },
  {
    name: "rooms",
    columns: `${OF_WORLD},
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
      ${refers("view_group", "view_groups", "id")}`,
    filled: `world_id, id, view_group, name, description, module_config, permission_config,
      sorting_priority, domain, name_folded, description_folded, extras, revision`,
    from: "old_rooms ORDER BY rowid",
  },
  {
    name: "room_modules",
    columns: `${WORLD},
      room_id TEXT NOT NULL,
      type TEXT NOT NULL,
      PRIMARY KEY (world_id, room_id, type),
      ${OF_ROOM}`,
    options: WITHOUT_ROWID,
    filled: "world_id, room_id, type",
    from: `(SELECT w.world_id, t.room_id, t.type FROM old_room_modules AS t ${IN_ROOM})`,
  },
  {
    name: "users",
    columns: `${OF_WORLD},
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
      PRIMARY KEY (world_id, id)`,
    filled: `world_id, id, token_id, client_id, profile, traits, last_seen, moderation_state,
      client_state, pretalx_id, last_login, display_name_folded, fields_folded`,
    from: "old_users ORDER BY rowid",
  },
  {
    name: "blocks",
    columns: `${WORLD},
      user_id TEXT NOT NULL,
      blocked_id TEXT NOT NULL,
      PRIMARY KEY (world_id, user_id, blocked_id),
      ${OF_USER},
      ${refers("blocked_id", "users", "id")}`,
    options: WITHOUT_ROWID,
    filled: "world_id, user_id, blocked_id",
    from: `(SELECT w.world_id, t.user_id, t.blocked_id FROM old_blocks AS t
      ${withWorldOf("users", "w.id = t.user_id")}
      JOIN users AS blocked ON blocked.id = t.blocked_id AND blocked.world_id = w.world_id)`,
  },
  {
    name: "files",
    columns: `${OF_WORLD},
      -- Counts up: of files with the same time, it tells which is newer.
      number INTEGER PRIMARY KEY,
      key TEXT NOT NULL UNIQUE,
      -- NULL once the user is erased. Users are only deleted with their world.
      user_id TEXT,
      size INTEGER NOT NULL,
      sha256 TEXT NOT NULL,
      created INTEGER NOT NULL`,
    filled: "number, world_id, key, user_id, size, sha256, created",
    from: "(SELECT rowid AS number, * FROM old_files ORDER BY rowid)",
  },
  {
    name: "announcements",
    columns: `${OF_WORLD},
      -- Counts up, so that the oldest comes first.
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      text TEXT NOT NULL,
      show_until INTEGER,
      state TEXT NOT NULL CHECK (state IN ('draft', 'active', 'archived'))`,
    filled: "world_id, number, id, text, show_until, state",
    from: "old_announcements ORDER BY number",
  },
  {
    name: "chat_channels",
    columns: `${OF_WORLD},
      -- Never given again: the events of a deleted channel are erased later.
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      -- The ids of the members of a direct channel, sorted and joined by commas. NULL for a room.
      direct TEXT,
      -- The id of the last event, and of the last one that is no member event; 0 for none.
      last_event INTEGER NOT NULL DEFAULT 0,
      last_message INTEGER NOT NULL DEFAULT 0,
      UNIQUE (world_id, number)`,
    filled: "world_id, number, id, direct, last_event, last_message",
    from: "old_chat_channels ORDER BY number",
  },
  {
    // Rows are appended. Nothing here may change its size, and no single row may be deleted:
    // SQLite then moves other rows to other pages, and their old bytes stay behind. So a text
    // is erased by overwriting it with as many zero bytes, and both flags take no space.
    name: "chat_events",
    columns: `${WORLD},
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
      author TEXT`,
    filled:
      "world_id, id, tag, channel, type, sender, timestamp, replaces, deleted, gone, content, author",
    from: "old_chat_events ORDER BY number",
  },
  {
    name: "chat_reactions",
    columns: `${WORLD},
      -- Counts up, so that the first reaction comes first.
      number INTEGER PRIMARY KEY,
      event INTEGER NOT NULL,
      reaction TEXT NOT NULL,
      user_id TEXT NOT NULL`,
    filled: "world_id, number, event, reaction, user_id",
    from: "old_chat_reactions ORDER BY number",
  },
  {
    name: "chat_members",
    columns: `${WORLD},
      -- Counts up, so that the order is that of joining.
      number INTEGER PRIMARY KEY,
      channel INTEGER NOT NULL,
      user_id TEXT NOT NULL,
      -- Whether the user has put away this direct channel until its next message.
      hidden INTEGER NOT NULL DEFAULT 0 CHECK (hidden IN (0, 1)),
      ${OF_CHANNEL},
      ${OF_USER}`,
    filled: "world_id, number, channel, user_id, hidden",
    from: `(SELECT w.world_id, t.number, t.channel, t.user_id, t.hidden
      FROM old_chat_members AS t ${IN_CHANNEL} AND ${KNOWN} ORDER BY t.number)`,
  },
  {
    name: "chat_readers",
    columns: `${WORLD},
      user_id TEXT NOT NULL,
      channel INTEGER NOT NULL,
      -- The id of the event that was marked as read last; NULL for none.
      pointer INTEGER,
      -- The id of the last event of the channel when the user came onto its unread list;
      -- NULL if the user is not on it. The first message after that event takes them off.
      listed INTEGER,
      PRIMARY KEY (world_id, user_id, channel),
      ${OF_CHANNEL},
      ${OF_USER}`,
    options: WITHOUT_ROWID,
    filled: "world_id, user_id, channel, pointer, listed",
    from: `(SELECT w.world_id, t.user_id, t.channel, t.pointer, t.listed
      FROM old_chat_readers AS t ${IN_CHANNEL} AND ${KNOWN})`,
  },
  {
    // Who was told of a message, and has not marked it as read.
    name: "chat_notifications",
    columns: `${WORLD},
      user_id TEXT NOT NULL,
      channel INTEGER NOT NULL,
      event INTEGER NOT NULL,
      PRIMARY KEY (world_id, user_id, channel, event),
      ${OF_CHANNEL},
      ${OF_USER}`,
    options: WITHOUT_ROWID,
    filled: "world_id, user_id, channel, event",
    from: `(SELECT w.world_id, t.user_id, t.channel, t.event
      FROM old_chat_notifications AS t ${IN_CHANNEL} AND ${KNOWN})`,
  },
  {
    // Channels that were deleted while they had events. What is left of them is erased in slices.
    name: "chat_remains",
    columns: `${WORLD},
      channel INTEGER NOT NULL,
      PRIMARY KEY (world_id, channel)`,
    options: WITHOUT_ROWID,
    filled: "world_id, channel",
    from: `(SELECT channel, (SELECT world_id FROM old_chat_events AS e
        WHERE e.channel = t.channel AND e.gone = 0 LIMIT 1) AS world_id
      FROM old_chat_remains AS t) WHERE world_id IS NOT NULL`,
  },
  {
    name: "questions",
    columns: `${WORLD},
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
      score INTEGER NOT NULL DEFAULT 0,
      UNIQUE (world_id, number),
      ${OF_ROOM}`,
    filled:
      "world_id, number, id, room_id, sender, moderator, content, state, answered, is_pinned, timestamp, score",
    from: `(SELECT w.world_id, t.* FROM old_questions AS t ${IN_ROOM} ORDER BY t.number)`,
  },
  {
    name: "question_votes",
    columns: `${WORLD},
      number INTEGER PRIMARY KEY,
      question INTEGER NOT NULL,
      -- NULL once the user is erased: the vote still counts.
      user_id TEXT,
      ${refers("question", "questions", "number")}`,
    filled: "world_id, number, question, user_id",
    from: `(SELECT w.world_id, t.* FROM old_question_votes AS t
      ${withWorldOf("questions", "w.number = t.question")} ORDER BY t.number)`,
  },
  {
    name: "polls",
    columns: `${WORLD},
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
      ${OF_ROOM}`,
    filled:
      "world_id, number, id, room_id, content, state, poll_type, is_pinned, timestamp, changed, results",
    from: `(SELECT w.world_id, t.* FROM old_polls AS t ${IN_ROOM} ORDER BY t.number)`,
  },
  {
    name: "poll_options",
    columns: `${WORLD},
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
      ${refers("poll", "polls", "number")}`,
    filled: "world_id, number, id, poll, content, position, votes",
    from: `(SELECT w.world_id, t.* FROM old_poll_options AS t
      ${withWorldOf("polls", "w.number = t.poll")} ORDER BY t.number)`,
  },
  {
    // One for each user who voted. It stays when the vote is withdrawn, without votes, so
    // that others can learn that it changed.
    name: "poll_ballots",
    columns: `${WORLD},
      number INTEGER PRIMARY KEY,
      poll INTEGER NOT NULL,
      -- NULL once the user is erased: the votes still count.
      user_id TEXT,
      -- What "changed" of the poll was when it changed last.
      changed INTEGER NOT NULL,
      UNIQUE (world_id, number),
      ${refers("poll", "polls", "number")}`,
    filled: "world_id, number, poll, user_id, changed",
    from: `(SELECT w.world_id, t.* FROM old_poll_ballots AS t
      ${withWorldOf("polls", "w.number = t.poll")} ORDER BY t.number)`,
  },
  {
    name: "poll_votes",
    columns: `${WORLD},
      ballot INTEGER NOT NULL,
      option INTEGER NOT NULL,
      PRIMARY KEY (world_id, ballot, option),
      ${refers("ballot", "poll_ballots", "number")},
      ${refers("option", "poll_options", "number")}`,
    options: WITHOUT_ROWID,
    filled: "world_id, ballot, option",
    from: `(SELECT w.world_id, t.* FROM old_poll_votes AS t
      ${withWorldOf("poll_ballots", "w.number = t.ballot")})`,
  },
  {
    // Rows are appended, and nothing changes its size. So SQLite moves no row to another page,
    // where its erased bytes would stay.
    name: "log",
    columns: `${WORLD},
      seq INTEGER NOT NULL,
      tag INTEGER NOT NULL,
      at INTEGER NOT NULL,
      type TEXT NOT NULL,
      -- JSON. Both hold no more than ids and rules.
      author TEXT NOT NULL,
      detail TEXT NOT NULL,
      -- JSON of what was hidden; once erased, a blob of zero bytes of the same length.
      data ANY`,
    filled: "world_id, seq, tag, at, type, author, detail, data",
    from: "old_log ORDER BY number",
  },
];

const INDEXES = /* sql */ `
CREATE INDEX world_issuers_by_name ON world_issuers (issuer, audience);

CREATE INDEX rooms_by_priority ON rooms (world_id, sorting_priority, name, id, view_group);
CREATE INDEX rooms_by_falling_priority ON rooms (world_id, sorting_priority DESC, name, id, view_group);
CREATE INDEX rooms_by_name ON rooms (world_id, name, sorting_priority, id, view_group);
CREATE INDEX rooms_by_falling_name ON rooms (world_id, name DESC, sorting_priority, id, view_group);
CREATE INDEX rooms_by_view_group ON rooms (world_id, view_group);

CREATE UNIQUE INDEX users_by_token ON users (world_id, token_id) WHERE token_id IS NOT NULL;
CREATE UNIQUE INDEX users_by_client ON users (world_id, client_id) WHERE client_id IS NOT NULL;
-- A page costs what is on it, and the count reads nothing but the index.
CREATE INDEX users_by_last_seen ON users (world_id, last_seen DESC, id)
  WHERE token_id IS NOT NULL OR client_id IS NOT NULL;
CREATE INDEX users_by_pretalx ON users (world_id, pretalx_id) WHERE pretalx_id IS NOT NULL;
-- A search by name reads nothing but the index.
CREATE INDEX users_by_name ON users (world_id, display_name_folded, id, moderation_state)
  WHERE token_id IS NOT NULL OR client_id IS NOT NULL;
CREATE INDEX blocks_by_blocked ON blocks (world_id, blocked_id);

-- Of files with the same time, the number tells which is newer.
CREATE INDEX files_by_time ON files (world_id, created);
CREATE INDEX files_by_user ON files (world_id, user_id);
CREATE INDEX announcements_by_world ON announcements (world_id);

CREATE UNIQUE INDEX chat_channels_by_members ON chat_channels (world_id, direct) WHERE direct IS NOT NULL;
CREATE UNIQUE INDEX chat_events_by_id ON chat_events (world_id, id);
CREATE INDEX chat_events_by_channel ON chat_events (world_id, channel, id) WHERE gone = 0;
-- Thousands may join before the first message.
CREATE INDEX chat_events_but_members ON chat_events (world_id, channel, id) WHERE gone = 0 AND type != 1;
CREATE INDEX chat_events_by_replaced ON chat_events (world_id, channel, replaces) WHERE replaces IS NOT NULL;
CREATE UNIQUE INDEX chat_reactions_by_event ON chat_reactions (world_id, event, reaction, user_id);
CREATE UNIQUE INDEX chat_members_by_channel ON chat_members (world_id, channel, user_id);
-- In the order of joining, because every index ends with the number.
CREATE INDEX chat_members_by_number ON chat_members (world_id, channel);
CREATE INDEX chat_members_by_user ON chat_members (world_id, user_id);
CREATE INDEX chat_readers_by_channel ON chat_readers (world_id, channel);
CREATE INDEX chat_notifications_by_channel ON chat_notifications (world_id, channel, event);

CREATE INDEX questions_by_room ON questions (world_id, room_id);
CREATE INDEX questions_visible ON questions (world_id, room_id) WHERE state = 'visible';
CREATE UNIQUE INDEX questions_pinned ON questions (world_id, room_id) WHERE is_pinned = 1;
CREATE INDEX questions_by_sender ON questions (world_id, sender, room_id) WHERE sender IS NOT NULL;
CREATE INDEX questions_by_moderator ON questions (world_id, moderator) WHERE moderator IS NOT NULL;
-- Each user votes once; NULLs differ from each other.
CREATE UNIQUE INDEX question_votes_by_user ON question_votes (world_id, user_id, question);
CREATE INDEX question_votes_by_question ON question_votes (world_id, question);

CREATE INDEX polls_by_room ON polls (world_id, room_id);
CREATE UNIQUE INDEX polls_pinned ON polls (world_id, room_id) WHERE is_pinned = 1;
CREATE INDEX poll_options_by_poll ON poll_options (world_id, poll, position);
-- Each user has one; NULLs differ from each other.
CREATE UNIQUE INDEX poll_ballots_by_user ON poll_ballots (world_id, user_id, poll);
CREATE INDEX poll_ballots_by_change ON poll_ballots (world_id, poll, changed);
CREATE INDEX poll_votes_by_option ON poll_votes (world_id, option);

CREATE UNIQUE INDEX log_by_seq ON log (world_id, seq);
CREATE INDEX log_with_data ON log (world_id) WHERE typeof(data) = 'text';
`;

/** The tables whose numbers are never given again. */
const COUNTED = ["chat_channels", "questions"];

// Old tables go in the order of their references, so no row goes because another went. A page
// that becomes free is overwritten (`secure_delete`). The rows of `chat_events` and `log` are
// appended in their order: no page of theirs is ever divided, which would leave copies behind.
export default [
  ...TABLES.map(({ name }) => `ALTER TABLE ${name} RENAME TO old_${name};`),
  ...TABLES.map(
    ({ name, columns, options = "STRICT", filled, from }) =>
      `CREATE TABLE ${name} (\n      ${columns}\n    ) ${options};
       INSERT INTO ${name} (${filled}) SELECT ${filled} FROM ${from};`,
  ),
  ...COUNTED.map(
    (name) =>
      `DELETE FROM sqlite_sequence WHERE name = '${name}';
       INSERT INTO sqlite_sequence (name, seq) SELECT '${name}', seq FROM sqlite_sequence WHERE name = 'old_${name}';`,
  ),
  ...TABLES.toReversed().map(({ name }) => `DROP TABLE old_${name};`),
  INDEXES,
].join("\n");
