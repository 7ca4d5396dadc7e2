export default /* sql */ `
-- A page costs what is on it, and the count reads nothing but the index.
CREATE INDEX users_by_last_seen ON users (world_id, last_seen DESC, id)
  WHERE token_id IS NOT NULL OR client_id IS NOT NULL;

-- Of files with the same time, the rowid tells which is newer.
CREATE INDEX files_by_time ON files (world_id, created);
-- The new index also finds the files of a world.
DROP INDEX files_by_world;
`;
