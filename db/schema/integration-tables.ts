import {
  erasable,
  flag,
  idOf,
  looseIdOf,
  number,
  numberOrNull,
  oneOf,
  table,
  text,
  textOrNull,
  time,
  timeOrNull,
  type SchemaPart,
} from "../copies/columns.js";
import { shown } from "../../schemas/plain/stage/screens.js";

/** Tables for attendance, webhooks, API callers, invite links and push notifications. */
export const integrationTables: SchemaPart = [
  /* sql */ `
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
CREATE INDEX attendance_counts_by_time ON attendance_counts (world_id, at);`,
  table("attendance_counts", "world_id room_id at", "none", {
    world_id: text,
    room_id: idOf("rooms"),
    at: number,
    people: number,
  }),
  /* sql */ `
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
CREATE INDEX attendance_visits_by_user ON attendance_visits (world_id, user_id);`,
  table("attendance_visits", "world_id room_id user_id session_id", "none", {
    world_id: text,
    room_id: idOf("rooms"),
    user_id: text,
    session_id: text,
    first: number,
    last: number,
    duration: number,
  }),
  /* sql */ `
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
);`,
  erasable(
    table("webhooks", "world_id number; id", "none", {
      number,
      id: text,
      world_id: idOf("worlds"),
      url: text,
      types: text,
      enabled: number,
      description: text,
      created_at: number,
      secret: text,
      revision: number,
      position: number,
      delivered_at: numberOrNull,
      failing_since: numberOrNull,
      last_status: numberOrNull,
      last_error: textOrNull,
      next_try_at: numberOrNull,
      attempts: number,
      holder: textOrNull,
      beat: number,
    }),
  ),
  /* sql */ `
-- The names in tokens of callers of the API who are no users of the world. The log and the audit
-- have only the digests, so a name is erased here.
CREATE TABLE api_callers (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  token TEXT NOT NULL,
  token_id TEXT NOT NULL,
  -- Of the last write.
  at BIGINT NOT NULL,
  PRIMARY KEY (world_id, token)
);`,
  erasable(
    table("api_callers", "world_id token", "none", {
      world_id: idOf("worlds"),
      token: text,
      token_id: text,
      at: number,
    }),
  ),
  /* sql */ `
-- The secret of each room in the link for people without a name.
CREATE TABLE room_invites (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  room_id TEXT NOT NULL,
  token TEXT NOT NULL,
  ends BIGINT NOT NULL,
  -- Stands for the secret in a short address. All worlds share the codes.
  code TEXT NOT NULL UNIQUE,
  PRIMARY KEY (world_id, room_id),
  UNIQUE (world_id, token),
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
);`,
  table("room_invites", "world_id room_id; world_id token; code", "none", {
    world_id: idOf("worlds"),
    room_id: idOf("rooms"),
    token: text,
    ends: number,
    code: text,
  }),
  /* sql */ `
-- The key with which this server signs for push services: one row.
CREATE TABLE push_keys (
  name TEXT NOT NULL PRIMARY KEY,
  public_key TEXT NOT NULL,
  private_key TEXT NOT NULL
);`,
  table("push_keys", "name", "none", { name: text, public_key: text, private_key: text }),
  /* sql */ `
-- The browsers that get messages while their page is closed.
CREATE TABLE push_subscriptions (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  endpoint TEXT NOT NULL,
  user_id TEXT NOT NULL,
  p256dh TEXT NOT NULL,
  auth TEXT NOT NULL,
  created BIGINT NOT NULL,
  -- 1 if the browser also gets what waits for moderators.
  moderation BIGINT NOT NULL,
  PRIMARY KEY (world_id, endpoint)
);
CREATE INDEX push_subscriptions_by_user ON push_subscriptions (world_id, user_id, created);`,
  erasable(
    table("push_subscriptions", "world_id endpoint", "none", {
      world_id: idOf("worlds"),
      endpoint: text,
      user_id: text,
      p256dh: text,
      auth: text,
      created: number,
      moderation: flag,
    }),
  ),
  /* sql */ `
-- The notifications that a process sends, so that no other process does.
CREATE TABLE push_claims (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (world_id, name)
);
CREATE INDEX push_claims_by_time ON push_claims (world_id, at);`,
  table("push_claims", "world_id name", "none", {
    world_id: idOf("worlds"),
    name: text,
    at: number,
  }),
  /* sql */ `
-- The people who were invited. Their tokens name the invitation, which decides what these grant.
CREATE TABLE invitations (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  -- Counts up: the order of creation.
  number COUNTER,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  email TEXT,
  -- Of the mails to the person; NULL for the event's.
  language TEXT,
  role TEXT NOT NULL,
  uid TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  -- When it ends: with the event, at expires_at, or never.
  ends TEXT NOT NULL CHECK (ends IN ('event', 'time', 'never')),
  expires_at BIGINT,
  used_at BIGINT,
  revoked_at BIGINT,
  -- The serials of its current link, of its current recovery link, and of sessions.
  link BIGINT NOT NULL,
  recovery BIGINT NOT NULL,
  session BIGINT NOT NULL,
  -- The e-mail address without differences of case, to find it; NULL for none.
  email_folded TEXT,
  -- The name and the e-mail address without differences of case, for search.
  folded TEXT NOT NULL,
  revision BIGINT NOT NULL,
  UNIQUE (world_id, number),
  UNIQUE (world_id, id),
  UNIQUE (world_id, uid)
);
CREATE INDEX invitations_by_email ON invitations (world_id, email_folded);`,
  erasable(
    table("invitations", "world_id number; world_id id; world_id uid", "export", {
      number,
      world_id: text,
      id: text,
      name: text,
      email: textOrNull,
      language: textOrNull,
      role: text,
      uid: text,
      created_at: time,
      ends: oneOf("event", "time", "never"),
      expires_at: timeOrNull,
      used_at: timeOrNull,
      revoked_at: timeOrNull,
      link: number,
      recovery: number,
      session: number,
      email_folded: { ...textOrNull, derived: null },
      folded: { ...text, derived: "" },
      revision: number,
    }),
  ),
  /* sql */ `
-- What the screen of each room shows, once a host has set it.
CREATE TABLE room_screens (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  room_id TEXT NOT NULL,
  show TEXT NOT NULL,
  -- A question or a poll.
  item TEXT,
  PRIMARY KEY (world_id, room_id),
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
);`,
  table("room_screens", "world_id room_id", "export", {
    world_id: text,
    room_id: idOf("rooms"),
    show: oneOf(...shown),
    item: { ...textOrNull, hasIds: true },
  }),
  /* sql */ `
-- The final lines of captions.
CREATE TABLE captions (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  -- Counts up: the order in which they arrived. Never reused, because entries of the log name it.
  number COUNTER AUTOINCREMENT,
  room_id TEXT NOT NULL,
  session_id TEXT,
  lang TEXT NOT NULL,
  content TEXT NOT NULL,
  spoken_at BIGINT NOT NULL,
  -- Who sent it, if it was a user.
  user_id TEXT,
  PRIMARY KEY (world_id, number), -- postgres
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
);
CREATE INDEX captions_by_room ON captions (world_id, room_id, spoken_at, number);
CREATE INDEX captions_by_language ON captions (world_id, room_id, lang, number);
CREATE INDEX captions_by_time ON captions (world_id, spoken_at);`,
  erasable(
    table("captions", "world_id number", "history", {
      number,
      world_id: text,
      room_id: idOf("rooms"),
      session_id: looseIdOf("program_sessions"),
      lang: text,
      content: text,
      spoken_at: time,
      user_id: looseIdOf("users"),
    }),
  ),
  /* sql */ `
-- The languages of the captions of each room, with the line that is not final yet.
CREATE TABLE caption_languages (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  room_id TEXT NOT NULL,
  lang TEXT NOT NULL,
  -- Empty after a final line.
  content TEXT NOT NULL,
  -- When the last line arrived.
  heard_at BIGINT NOT NULL,
  PRIMARY KEY (world_id, room_id, lang),
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
);`,
  erasable(
    table("caption_languages", "world_id room_id lang", "history", {
      world_id: text,
      room_id: idOf("rooms"),
      lang: text,
      content: text,
      heard_at: time,
    }),
  ),
];
