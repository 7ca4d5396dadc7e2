export default /* sql */ `
-- The secret of each user in the address of a calendar.
CREATE TABLE program_links (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  token TEXT NOT NULL,
  PRIMARY KEY (world_id, user_id),
  UNIQUE (world_id, token)
);
`;
