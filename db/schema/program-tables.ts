import {
  erasable,
  looseId,
  looseIdOf,
  number,
  object,
  oneOf,
  table,
  text,
  textOrNull,
  time,
  timeOrNull,
  type SchemaPart,
} from "../copies/columns.js";

/** Tables for the program: sessions, speakers, favorites and calendar links. */
export const programTables: SchemaPart = [
  /* sql */ `
-- The program of each world that has had one. Stamps are random, and renewed with each change.
CREATE TABLE programs (
  world_id TEXT NOT NULL PRIMARY KEY REFERENCES world_ids (id) ON DELETE CASCADE,
  stamp TEXT NOT NULL,
  -- Renewed with the rules of the world and its rooms, and with the dates of the event.
  settings TEXT NOT NULL
);`,
  erasable(table("programs", "world_id", "all", { world_id: text, stamp: text, settings: text })),
  /* sql */ `
-- The places of a program whose changes count apart: a room, no room (''), or 'speakers'.
CREATE TABLE program_places (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  place TEXT NOT NULL,
  -- Renewed when something changes that is no draft; empty if nothing ever did.
  shown TEXT NOT NULL,
  -- Renewed with every change.
  changed TEXT NOT NULL,
  PRIMARY KEY (world_id, place)
);`,
  erasable(
    table("program_places", "world_id place", "all", {
      world_id: text,
      place: { ...text, hasIds: true },
      shown: text,
      changed: text,
    }),
  ),
  /* sql */ `
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
CREATE INDEX program_sessions_by_room ON program_sessions (world_id, room_id, starts_at);`,
  erasable(
    table("program_sessions", "world_id id; world_id import_id", "all", {
      world_id: text,
      id: text,
      revision: { ...number, inClone: 1 },
      import_id: textOrNull,
      room_id: looseIdOf("rooms"),
      starts_at: timeOrNull,
      ends_at: timeOrNull,
      state: oneOf("public", "draft"),
      title: text,
      detail: { ...object, hasIds: true },
    }),
  ),
  /* sql */ `
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
);`,
  erasable(
    table("program_speakers", "world_id id; world_id import_id", "all", {
      world_id: text,
      id: text,
      revision: { ...number, inClone: 1 },
      import_id: textOrNull,
      user_id: { ...looseIdOf("users"), inClone: null },
      picture: { ...textOrNull, inClone: null },
      name: text,
      detail: object,
    }),
  ),
  /* sql */ `
CREATE TABLE program_favorites (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  -- Counts up: the order in which users marked sessions.
  number COUNTER,
  user_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  -- The start and the room that the user knew, if the session has moved since; else NULL.
  moved_start BIGINT,
  moved_room TEXT,
  UNIQUE (world_id, user_id, session_id)
);
CREATE INDEX program_favorites_by_session ON program_favorites (world_id, session_id);`,
  erasable(
    table("program_favorites", "world_id user_id session_id", "export", {
      number,
      world_id: text,
      user_id: looseId("users"),
      session_id: looseId("program_sessions"),
      moved_start: timeOrNull,
      moved_room: looseIdOf("rooms"),
    }),
  ),
  /* sql */ `
-- The fields of imported sessions and speakers that were changed by hand since the import.
CREATE TABLE program_edits (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  record_id TEXT NOT NULL,
  field TEXT NOT NULL,
  PRIMARY KEY (world_id, record_id, field)
) WITHOUT ROWID;`,
  table("program_edits", "world_id record_id field", "all", {
    world_id: text,
    record_id: { ...text, hasIds: true },
    field: text,
  }),
  /* sql */ `
-- What people think of sessions: one rating of a person for each. The author of an erased person's rating is NULL.
CREATE TABLE session_ratings (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  -- Counts up: the order of the first ratings.
  number COUNTER,
  session_id TEXT NOT NULL,
  user_id TEXT,
  stars BIGINT NOT NULL,
  content TEXT NOT NULL,
  rated_at BIGINT NOT NULL,
  PRIMARY KEY (world_id, number), -- postgres
  UNIQUE (world_id, session_id, user_id)
);
CREATE INDEX session_ratings_by_user ON session_ratings (world_id, user_id);`,
  erasable(
    table("session_ratings", "world_id number; world_id session_id user_id", "export", {
      number,
      world_id: text,
      session_id: looseId("program_sessions"),
      user_id: looseIdOf("users"),
      stars: number,
      content: text,
      rated_at: time,
    }),
  ),
  /* sql */ `
-- The secret of each user in the address of a calendar.
CREATE TABLE program_links (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  token TEXT NOT NULL,
  PRIMARY KEY (world_id, user_id),
  UNIQUE (world_id, token)
);`,
  erasable(
    table("program_links", "world_id user_id; world_id token", "export", {
      world_id: text,
      user_id: looseId("users"),
      token: text,
    }),
  ),
];
