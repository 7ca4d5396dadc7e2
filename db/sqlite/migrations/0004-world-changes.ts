export default /* sql */ `
-- The last change of each world, and which processes made it: so that a server
-- notices what a command beside it has written. It outlives the world, as a
-- deletion is a change too. A change is a number that only grows; an origin is
-- drawn by each group of processes that tell each other of their changes.
CREATE TABLE world_changes (
  world_id TEXT NOT NULL PRIMARY KEY,
  change INTEGER NOT NULL,
  origin TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX world_changes_in_order ON world_changes (change);
`;
