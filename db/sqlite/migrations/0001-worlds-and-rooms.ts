export default /* sql */ `
CREATE TABLE worlds (
  id TEXT NOT NULL PRIMARY KEY,
  title TEXT NOT NULL,
  config TEXT NOT NULL,
  permission_config TEXT NOT NULL,
  domain TEXT NOT NULL UNIQUE,
  revision INTEGER NOT NULL DEFAULT 1
) STRICT;

-- Which worlds may have signed a token, by what it says of itself. The secrets
-- stay in config, where they are changed; this is only the way to find them.
CREATE TABLE world_issuers (
  issuer TEXT NOT NULL,
  audience TEXT NOT NULL,
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  PRIMARY KEY (issuer, audience, world_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX world_issuers_by_world ON world_issuers (world_id);

-- The rooms of a world fall into few groups that are seen by the same people:
-- one for each room.view rule, and one for the rooms that leave it to the world
-- (no rule). So who may see what, and how many that is, costs the number of
-- rules and not the number of rooms.
CREATE TABLE view_groups (
  id INTEGER PRIMARY KEY,
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  rule TEXT NOT NULL,
  rooms INTEGER NOT NULL,
  UNIQUE (world_id, rule)
) STRICT;

CREATE TABLE rooms (
  id TEXT NOT NULL PRIMARY KEY,
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  view_group INTEGER NOT NULL REFERENCES view_groups (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  module_config TEXT NOT NULL,
  permission_config TEXT NOT NULL,
  sorting_priority INTEGER NOT NULL,
  domain TEXT,
  -- Name and description with the differences of case taken out, for search.
  name_folded TEXT NOT NULL,
  description_folded TEXT NOT NULL,
  revision INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX rooms_by_priority ON rooms (world_id, sorting_priority, name, id, view_group);
CREATE INDEX rooms_by_falling_priority ON rooms (world_id, sorting_priority DESC, name, id, view_group);
CREATE INDEX rooms_by_name ON rooms (world_id, name, sorting_priority, id, view_group);
CREATE INDEX rooms_by_falling_name ON rooms (world_id, name DESC, sorting_priority, id, view_group);
CREATE INDEX rooms_by_view_group ON rooms (view_group);

CREATE TABLE room_modules (
  room_id TEXT NOT NULL REFERENCES rooms (id) ON DELETE CASCADE,
  type TEXT NOT NULL,
  PRIMARY KEY (room_id, type)
) STRICT, WITHOUT ROWID;
`;
