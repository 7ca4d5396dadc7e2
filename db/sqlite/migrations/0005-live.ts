export default /* sql */ `
-- JSON of the fields that only the live layer shows, without those that have
-- their default. NULL if all have it.
ALTER TABLE rooms ADD COLUMN extras TEXT;

ALTER TABLE users ADD COLUMN moderation_state TEXT NOT NULL DEFAULT ''
  CHECK (moderation_state IN ('', 'silenced', 'banned'));
-- A JSON object; NULL if it is empty.
ALTER TABLE users ADD COLUMN client_state TEXT;
ALTER TABLE users ADD COLUMN pretalx_id TEXT;
-- In milliseconds since 1970.
ALTER TABLE users ADD COLUMN last_login INTEGER;
-- The display name of the profile without differences of case, for search.
ALTER TABLE users ADD COLUMN display_name_folded TEXT NOT NULL DEFAULT '';
UPDATE users SET display_name_folded = folded_display_name(profile) WHERE profile IS NOT NULL;

CREATE INDEX users_by_pretalx ON users (world_id, pretalx_id) WHERE pretalx_id IS NOT NULL;
-- A search by name reads nothing but the index.
CREATE INDEX users_by_name ON users (world_id, display_name_folded, id, moderation_state)
  WHERE token_id IS NOT NULL OR client_id IS NOT NULL;

-- Who blocks whom. Both are users of one world.
CREATE TABLE blocks (
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  blocked_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  PRIMARY KEY (user_id, blocked_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX blocks_by_blocked ON blocks (blocked_id);

CREATE TABLE announcements (
  -- Counts up, so that the oldest comes first.
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  text TEXT NOT NULL,
  -- In milliseconds since 1970.
  show_until INTEGER,
  state TEXT NOT NULL CHECK (state IN ('draft', 'active', 'archived'))
) STRICT;
CREATE INDEX announcements_by_world ON announcements (world_id);
`;
