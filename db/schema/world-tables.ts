import {
  anyWorld,
  erasable,
  idOf,
  list,
  looseIdOf,
  number,
  numberOf,
  object,
  objectOrNull,
  oneOf,
  table,
  text,
  textOrNull,
  time,
  timeOrNull,
  type SchemaPart,
} from "../copies/columns.js";

/** Tables for worlds, rooms, users, files and announcements. */
export const worldTables: SchemaPart = [
  /* sql */ `
-- Every id that has rows. Without a row in \`worlds\`, it is of a world whose rows are being loaded or
-- removed, in slices: nobody sees it.
CREATE TABLE world_ids (
  id TEXT NOT NULL PRIMARY KEY,
  -- The time of the last slice; NULL if it has a row in \`worlds\`.
  touched BIGINT
);
CREATE INDEX world_ids_hidden ON world_ids (touched) WHERE touched IS NOT NULL;`,
  table("world_ids", "id", "none", { id: text, touched: timeOrNull }),
  /* sql */ `
CREATE TABLE worlds (
  id TEXT NOT NULL PRIMARY KEY REFERENCES world_ids (id) ON DELETE CASCADE,
  title TEXT NOT NULL,
  config TEXT NOT NULL,
  permission_config TEXT NOT NULL,
  domain TEXT NOT NULL UNIQUE,
  revision BIGINT NOT NULL DEFAULT 1,
  file_bytes BIGINT NOT NULL DEFAULT 0
);`,
  table(
    "worlds",
    "id; domain",
    "all",
    {
      id: idOf("world_ids"),
      title: text,
      config: object,
      permission_config: object,
      domain: text,
      revision: number,
    },
    { file_bytes: number },
  ),
  /* sql */ `
CREATE TABLE world_issuers (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  issuer TEXT NOT NULL,
  audience TEXT NOT NULL,
  PRIMARY KEY (world_id, issuer, audience) -- sqlite
) WITHOUT ROWID;
CREATE UNIQUE INDEX world_issuers_by_world ON world_issuers (world_id, digest(issuer), digest(audience)); -- postgres
CREATE INDEX world_issuers_by_name ON world_issuers (digest(issuer), digest(audience));`,
  table("world_issuers", "world_id issuer audience", "none", {
    issuer: text,
    audience: text,
    world_id: text,
  }),
  /* sql */ `
CREATE TABLE view_groups (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  id COUNTER,
  rule TEXT NOT NULL,
  rooms BIGINT NOT NULL,
  UNIQUE (world_id, id), -- sqlite
  UNIQUE (world_id, rule) -- sqlite
  PRIMARY KEY (world_id, id) -- postgres
);
CREATE UNIQUE INDEX view_groups_by_rule ON view_groups (world_id, digest(rule)); -- postgres`,
  table("view_groups", "world_id id; world_id rule", "none", {
    id: number,
    world_id: text,
    rule: text,
    rooms: number,
  }),
  /* sql */ `
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
CREATE INDEX rooms_by_folded_name ON rooms (world_id, digest(name_folded));`,
  table("rooms", "world_id id; id", "all", {
    id: text,
    world_id: text,
    view_group: { ...numberOf("view_groups"), derived: 0 },
    name: text,
    description: text,
    module_config: list,
    permission_config: object,
    sorting_priority: number,
    domain: textOrNull,
    name_folded: { ...text, derived: "" },
    description_folded: { ...text, derived: "" },
    revision: { ...number, inClone: 1 },
    extras: objectOrNull,
  }),
  /* sql */ `
CREATE TABLE room_modules (
  world_id TEXT NOT NULL,
  room_id TEXT NOT NULL,
  type TEXT NOT NULL,
  PRIMARY KEY (world_id, room_id, type), -- sqlite
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE UNIQUE INDEX room_modules_by_room ON room_modules (world_id, room_id, digest(type)); -- postgres`,
  table("room_modules", "world_id room_id type", "none", {
    world_id: anyWorld,
    room_id: idOf("rooms"),
    type: text,
  }),
  /* sql */ `
CREATE TABLE users (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  id TEXT NOT NULL UNIQUE,
  token_id TEXT,
  client_id TEXT,
  profile TEXT,
  traits TEXT,
  last_seen BIGINT NOT NULL,
  moderation_state TEXT NOT NULL DEFAULT '' CHECK (moderation_state IN ('', 'silenced', 'banned', 'waiting')),
  -- When a silence ends by itself; NULL if it does not.
  moderated_until BIGINT,
  -- A JSON object; NULL if it is empty.
  client_state TEXT,
  pretalx_id TEXT,
  last_login BIGINT,
  -- The display name and the text fields of the profile without differences of case, for search.
  display_name_folded TEXT NOT NULL DEFAULT '',
  fields_folded TEXT NOT NULL DEFAULT '',
  created BIGINT NOT NULL DEFAULT 0,
  -- The display name in a form that names which look alike share.
  name_shape TEXT NOT NULL DEFAULT '',
  -- A keyed hash of the network from which the user last came.
  network TEXT,
  PRIMARY KEY (world_id, id)
);
CREATE UNIQUE INDEX users_by_token ON users (world_id, digest(token_id)) WHERE token_id IS NOT NULL;
CREATE UNIQUE INDEX users_by_client ON users (world_id, digest(client_id)) WHERE client_id IS NOT NULL;
CREATE INDEX users_by_last_seen ON users (world_id, last_seen DESC, id)
  WHERE token_id IS NOT NULL OR client_id IS NOT NULL;
CREATE INDEX users_by_creation ON users (world_id, created, id)
  WHERE token_id IS NOT NULL OR client_id IS NOT NULL;
CREATE INDEX users_by_shape ON users (world_id, digest(name_shape)) WHERE name_shape <> '';
CREATE INDEX users_waiting ON users (world_id, last_seen) WHERE moderation_state = 'waiting';
CREATE INDEX users_by_moderation_end ON users (world_id, moderated_until)
  WHERE moderated_until IS NOT NULL;
CREATE INDEX users_by_pretalx ON users (world_id, digest(pretalx_id)) WHERE pretalx_id IS NOT NULL;
CREATE INDEX users_by_name ON users (world_id, display_name_folded, id, moderation_state) -- sqlite
  WHERE token_id IS NOT NULL OR client_id IS NOT NULL; -- sqlite`,
  erasable(
    table(
      "users",
      "world_id id; id; world_id token_id; world_id client_id",
      "all",
      {
        id: text,
        world_id: text,
        token_id: textOrNull,
        client_id: textOrNull,
        profile: objectOrNull,
        traits: { ...textOrNull, json: "list" },
        last_seen: time,
        moderation_state: oneOf("", "silenced", "banned", "waiting"),
        moderated_until: timeOrNull,
        client_state: objectOrNull,
        pretalx_id: textOrNull,
        last_login: timeOrNull,
        display_name_folded: { ...text, derived: "" },
        created: time,
        name_shape: { ...text, derived: "" },
      },
      // The fields are derived from the profile: see `storedRow` in `copies/dump.ts`. The network is
      // stored again with the user's next visit.
      { fields_folded: text, network: textOrNull },
    ),
  ),
  /* sql */ `
-- The key of the hashes of networks.
CREATE TABLE network_keys (
  world_id TEXT NOT NULL PRIMARY KEY REFERENCES world_ids (id) ON DELETE CASCADE,
  secret TEXT NOT NULL
);`,
  erasable(table("network_keys", "world_id", "none", { world_id: text, secret: text })),
  /* sql */ `
-- The networks whose new guests are kept out, as keyed hashes.
CREATE TABLE network_bans (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  network TEXT NOT NULL,
  -- The banned user; NULL once the user is erased.
  user_id TEXT,
  ends BIGINT NOT NULL,
  PRIMARY KEY (world_id, network)
);
CREATE INDEX network_bans_by_user ON network_bans (world_id, user_id);
CREATE INDEX network_bans_by_end ON network_bans (world_id, ends);`,
  erasable(
    table("network_bans", "world_id network", "none", {
      world_id: text,
      network: text,
      user_id: looseIdOf("users"),
      ends: time,
    }),
  ),
  /* sql */ `
CREATE TABLE blocks (
  world_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  blocked_id TEXT NOT NULL,
  PRIMARY KEY (world_id, user_id, blocked_id),
  FOREIGN KEY (world_id, user_id) REFERENCES users (world_id, id) ON DELETE CASCADE,
  FOREIGN KEY (world_id, blocked_id) REFERENCES users (world_id, id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX blocks_by_blocked ON blocks (world_id, blocked_id);`,
  erasable(
    table("blocks", "world_id user_id blocked_id", "all", {
      world_id: anyWorld,
      user_id: idOf("users"),
      blocked_id: idOf("users"),
    }),
  ),
  /* sql */ `
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
CREATE INDEX files_by_user ON files (world_id, user_id);`,
  erasable(
    table("files", "world_id key; key", "files", {
      number: number,
      key: text,
      world_id: text,
      user_id: looseIdOf("users"),
      size: number,
      sha256: text,
      created: time,
    }),
  ),
  /* sql */ `
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
CREATE INDEX announcements_by_world ON announcements (world_id); -- sqlite`,
  erasable(
    table("announcements", "world_id number; id", "all", {
      number: number,
      id: text,
      world_id: text,
      text: text,
      show_until: timeOrNull,
      state: oneOf("draft", "active", "archived"),
    }),
  ),
];
