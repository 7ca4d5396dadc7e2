export default /* sql */ `
-- Somebody who uploaded. Known by the uid of tokens or by a client ID; by
-- neither once erased: then only the nameless row is left.
CREATE TABLE users (
  id TEXT NOT NULL PRIMARY KEY,
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  token_id TEXT,
  client_id TEXT,
  profile TEXT,
  traits TEXT,
  last_seen INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX users_by_token ON users (world_id, token_id) WHERE token_id IS NOT NULL;
CREATE UNIQUE INDEX users_by_client ON users (world_id, client_id) WHERE client_id IS NOT NULL;

CREATE TABLE files (
  key TEXT NOT NULL PRIMARY KEY,
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  user_id TEXT REFERENCES users (id) ON DELETE SET NULL,
  size INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  created INTEGER NOT NULL
) STRICT;
CREATE INDEX files_by_world ON files (world_id);
CREATE INDEX files_by_user ON files (user_id);

-- The sizes of all files of a world, so that a quota costs no counting.
ALTER TABLE worlds ADD COLUMN file_bytes INTEGER NOT NULL DEFAULT 0;
`;
