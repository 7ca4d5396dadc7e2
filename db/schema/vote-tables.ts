import { POLL_KINDS } from "../../schemas/plain/polls.js";
import {
  anyWorld,
  erasable,
  flag,
  idOf,
  looseIdOf,
  number,
  numberOf,
  numberOrNull,
  object,
  objectOrNull,
  oneOf,
  table,
  text,
  time,
  timeOrNull,
  type SchemaPart,
} from "../copies/columns.js";

/** Tables for questions and polls. */
export const voteTables: SchemaPart = [
  /* sql */ `
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
CREATE INDEX questions_by_moderator ON questions (world_id, moderator) WHERE moderator IS NOT NULL;`,
  erasable(
    table("questions", "world_id number; id; world_id room_id", "all", {
      number: number,
      id: text,
      world_id: anyWorld,
      room_id: idOf("rooms"),
      sender: { ...looseIdOf("users"), inClone: null },
      moderator: { ...looseIdOf("users"), inClone: null },
      content: text,
      state: oneOf("mod_queue", "visible", "archived"),
      answered: flag,
      is_pinned: flag,
      timestamp: time,
      score: { ...number, derived: 0 },
      named: { ...flag, inClone: 0 },
    }),
  ),
  /* sql */ `
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
CREATE INDEX question_votes_by_question ON question_votes (world_id, question);`,
  table("question_votes", "world_id number; world_id user_id question", "export", {
    number: number,
    world_id: anyWorld,
    question: numberOf("questions"),
    user_id: looseIdOf("users"),
  }),
  /* sql */ `
CREATE TABLE polls (
  world_id TEXT NOT NULL,
  -- Counts up in the order of creation.
  number COUNTER,
  id TEXT NOT NULL UNIQUE,
  room_id TEXT NOT NULL,
  content TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('draft', 'open', 'closed', 'archived')),
  poll_type TEXT NOT NULL
    CHECK (poll_type IN ('choice', 'multi', 'words', 'text', 'scale', 'rank', 'quiz')),
  is_pinned BIGINT NOT NULL DEFAULT 0 CHECK (is_pinned IN (0, 1)),
  timestamp BIGINT NOT NULL,
  -- How often its ballots have changed.
  changed BIGINT NOT NULL DEFAULT 0,
  -- Of a closed or archived poll: JSON of the votes by the id of the option, as they were then.
  results TEXT CHECK ((results IS NOT NULL) = (state IN ('closed', 'archived'))),
  -- JSON of the settings of its kind.
  settings TEXT NOT NULL DEFAULT '{}',
  -- Of a quiz: when it was opened, or closed without that.
  opened_at BIGINT,
  -- Of an open quiz: when it closes by itself.
  ends_at BIGINT,
  UNIQUE (world_id, number), -- sqlite
  PRIMARY KEY (world_id, number), -- postgres
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
);
CREATE INDEX polls_by_room ON polls (world_id, room_id, number);
CREATE UNIQUE INDEX polls_pinned ON polls (world_id, room_id) WHERE is_pinned = 1;
CREATE INDEX polls_ending ON polls (ends_at) WHERE ends_at IS NOT NULL;`,
  erasable(
    table("polls", "world_id number; id; world_id room_id", "all", {
      number: number,
      id: text,
      world_id: anyWorld,
      room_id: idOf("rooms"),
      content: text,
      state: oneOf("draft", "open", "closed", "archived"),
      poll_type: oneOf(...POLL_KINDS),
      is_pinned: flag,
      timestamp: time,
      changed: { ...number, inClone: 0 },
      results: { ...objectOrNull, hasIds: true },
      settings: object,
      opened_at: { ...timeOrNull, inClone: null },
      ends_at: { ...timeOrNull, inClone: null },
    }),
  ),
  /* sql */ `
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
  -- Of a quiz: whether it is a right answer.
  correct BIGINT NOT NULL DEFAULT 0 CHECK (correct IN (0, 1)),
  UNIQUE (world_id, number), -- sqlite
  PRIMARY KEY (world_id, number), -- postgres
  FOREIGN KEY (world_id, poll) REFERENCES polls (world_id, number) ON DELETE CASCADE
);
CREATE INDEX poll_options_by_poll ON poll_options (world_id, poll, position, number);`,
  erasable(
    table("poll_options", "world_id number; id", "all", {
      number: number,
      id: text,
      world_id: anyWorld,
      poll: numberOf("polls"),
      content: text,
      position: number,
      votes: { ...number, derived: 0 },
      correct: flag,
    }),
  ),
  /* sql */ `
CREATE TABLE poll_ballots (
  world_id TEXT NOT NULL,
  number COUNTER,
  poll BIGINT NOT NULL,
  -- NULL once the user is erased: the votes still count.
  user_id TEXT,
  -- The value of the poll's "changed" when the ballot changed last.
  changed BIGINT NOT NULL,
  -- The value on a scale.
  value BIGINT,
  -- When the person voted; NULL without a vote.
  cast_at BIGINT,
  -- Whether the person has voted where votes were anonymous: managers never learn who it was.
  anonymous BIGINT NOT NULL DEFAULT 0 CHECK (anonymous IN (0, 1)),
  UNIQUE (world_id, number), -- sqlite
  PRIMARY KEY (world_id, number), -- postgres
  FOREIGN KEY (world_id, poll) REFERENCES polls (world_id, number) ON DELETE CASCADE
);
CREATE UNIQUE INDEX poll_ballots_by_user ON poll_ballots (world_id, user_id, poll);
CREATE INDEX poll_ballots_by_change ON poll_ballots (world_id, poll, changed);
CREATE INDEX poll_ballots_cast ON poll_ballots (world_id, poll, value) WHERE cast_at IS NOT NULL;`,
  table("poll_ballots", "world_id number; world_id user_id poll", "export", {
    number: number,
    world_id: anyWorld,
    poll: numberOf("polls"),
    user_id: looseIdOf("users"),
    changed: number,
    value: numberOrNull,
    cast_at: timeOrNull,
    anonymous: flag,
  }),
  /* sql */ `
CREATE TABLE poll_votes (
  world_id TEXT NOT NULL,
  ballot BIGINT NOT NULL,
  option BIGINT NOT NULL,
  -- In a ranking: how many options the person put before it.
  place BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (world_id, ballot, option),
  FOREIGN KEY (world_id, ballot) REFERENCES poll_ballots (world_id, number) ON DELETE CASCADE,
  FOREIGN KEY (world_id, option) REFERENCES poll_options (world_id, number) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX poll_votes_by_option ON poll_votes (world_id, option);`,
  table("poll_votes", "world_id ballot option", "export", {
    world_id: anyWorld,
    ballot: numberOf("poll_ballots"),
    option: numberOf("poll_options"),
    place: number,
  }),
  /* sql */ `
CREATE TABLE poll_answers (
  world_id TEXT NOT NULL,
  -- Counts up: orders answers, oldest first.
  number COUNTER,
  id TEXT NOT NULL UNIQUE,
  poll BIGINT NOT NULL,
  ballot BIGINT NOT NULL,
  -- A word or a text. A text is empty once its author is erased.
  content TEXT NOT NULL,
  -- A word in the form in which it is counted; empty for texts.
  folded TEXT NOT NULL,
  -- Of a text: 0 for all, 1 hidden by a manager, 2 held until a manager decides.
  shown BIGINT NOT NULL CHECK (shown IN (0, 1, 2)),
  written_at BIGINT NOT NULL,
  UNIQUE (world_id, number), -- sqlite
  PRIMARY KEY (world_id, number), -- postgres
  FOREIGN KEY (world_id, poll) REFERENCES polls (world_id, number) ON DELETE CASCADE,
  FOREIGN KEY (world_id, ballot) REFERENCES poll_ballots (world_id, number) ON DELETE CASCADE
);
CREATE INDEX poll_answers_by_ballot ON poll_answers (world_id, ballot);
CREATE INDEX poll_answers_by_age ON poll_answers (world_id, poll, number);
CREATE INDEX poll_answers_by_word ON poll_answers (world_id, poll, folded, content)
  WHERE folded <> '';`,
  erasable(
    table("poll_answers", "world_id number; id", "export", {
      number: number,
      id: text,
      world_id: anyWorld,
      poll: numberOf("polls"),
      ballot: numberOf("poll_ballots"),
      content: text,
      folded: text,
      shown: { ...number, values: [0, 1, 2] },
      written_at: time,
    }),
  ),
  /* sql */ `
CREATE TABLE poll_hidden_words (
  world_id TEXT NOT NULL,
  poll BIGINT NOT NULL,
  folded TEXT NOT NULL,
  PRIMARY KEY (world_id, poll, folded),
  FOREIGN KEY (world_id, poll) REFERENCES polls (world_id, number) ON DELETE CASCADE
) WITHOUT ROWID;`,
  erasable(
    table("poll_hidden_words", "world_id poll folded", "export", {
      world_id: anyWorld,
      poll: numberOf("polls"),
      folded: text,
    }),
  ),
];
