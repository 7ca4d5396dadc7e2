export default /* sql */ `
CREATE TABLE questions (
  -- Counts up, so that the order is that of asking.
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  room_id TEXT NOT NULL REFERENCES rooms (id) ON DELETE CASCADE,
  -- NULL once the user is erased.
  sender TEXT REFERENCES users (id) ON DELETE SET NULL,
  -- Who changed it last.
  moderator TEXT REFERENCES users (id) ON DELETE SET NULL,
  content TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('mod_queue', 'visible', 'archived')),
  answered INTEGER NOT NULL DEFAULT 0 CHECK (answered IN (0, 1)),
  is_pinned INTEGER NOT NULL DEFAULT 0 CHECK (is_pinned IN (0, 1)),
  -- In milliseconds since 1970.
  timestamp INTEGER NOT NULL,
  -- The number of its rows in question_votes.
  score INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX questions_by_room ON questions (room_id);
CREATE INDEX questions_visible ON questions (room_id) WHERE state = 'visible';
CREATE UNIQUE INDEX questions_pinned ON questions (room_id) WHERE is_pinned = 1;
CREATE INDEX questions_by_sender ON questions (sender, room_id) WHERE sender IS NOT NULL;
CREATE INDEX questions_by_moderator ON questions (moderator) WHERE moderator IS NOT NULL;

CREATE TABLE question_votes (
  number INTEGER PRIMARY KEY,
  question INTEGER NOT NULL REFERENCES questions (number) ON DELETE CASCADE,
  -- NULL once the user is erased: the vote still counts.
  user_id TEXT REFERENCES users (id) ON DELETE SET NULL
) STRICT;
-- Each user votes once; NULLs differ from each other.
CREATE UNIQUE INDEX question_votes_by_user ON question_votes (user_id, question);
CREATE INDEX question_votes_by_question ON question_votes (question);

CREATE TABLE polls (
  -- Counts up, so that the order is that of creation.
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  room_id TEXT NOT NULL REFERENCES rooms (id) ON DELETE CASCADE,
  content TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('draft', 'open', 'closed', 'archived')),
  poll_type TEXT NOT NULL CHECK (poll_type IN ('choice', 'multi')),
  is_pinned INTEGER NOT NULL DEFAULT 0 CHECK (is_pinned IN (0, 1)),
  -- In milliseconds since 1970.
  timestamp INTEGER NOT NULL,
  -- How often its ballots have changed.
  changed INTEGER NOT NULL DEFAULT 0,
  -- Of a closed or archived poll: JSON of the votes by the id of the option, as they were then.
  results TEXT CHECK ((results IS NOT NULL) = (state IN ('closed', 'archived')))
) STRICT;
CREATE INDEX polls_by_room ON polls (room_id);
CREATE UNIQUE INDEX polls_pinned ON polls (room_id) WHERE is_pinned = 1;

CREATE TABLE poll_options (
  -- Counts up, so that the older of two with the same position comes first.
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  poll INTEGER NOT NULL REFERENCES polls (number) ON DELETE CASCADE,
  content TEXT NOT NULL,
  -- What clients call order.
  position INTEGER NOT NULL,
  -- The number of its rows in poll_votes.
  votes INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX poll_options_by_poll ON poll_options (poll, position);

-- One for each user who voted. It stays when the vote is withdrawn, without votes, so
-- that others can learn that it changed.
CREATE TABLE poll_ballots (
  number INTEGER PRIMARY KEY,
  poll INTEGER NOT NULL REFERENCES polls (number) ON DELETE CASCADE,
  -- NULL once the user is erased: the votes still count.
  user_id TEXT REFERENCES users (id) ON DELETE SET NULL,
  -- What "changed" of the poll was when it changed last.
  changed INTEGER NOT NULL
) STRICT;
-- Each user has one; NULLs differ from each other.
CREATE UNIQUE INDEX poll_ballots_by_user ON poll_ballots (user_id, poll);
CREATE INDEX poll_ballots_by_change ON poll_ballots (poll, changed);

CREATE TABLE poll_votes (
  ballot INTEGER NOT NULL REFERENCES poll_ballots (number) ON DELETE CASCADE,
  option INTEGER NOT NULL REFERENCES poll_options (number) ON DELETE CASCADE,
  PRIMARY KEY (ballot, option)
) STRICT, WITHOUT ROWID;
CREATE INDEX poll_votes_by_option ON poll_votes (option);
`;
