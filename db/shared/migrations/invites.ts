export default /* sql */ `
-- The secret of each room in the link for people without a name.
CREATE TABLE room_invites (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  room_id TEXT NOT NULL,
  token TEXT NOT NULL,
  -- In milliseconds since 1970.
  ends BIGINT NOT NULL,
  PRIMARY KEY (world_id, room_id),
  UNIQUE (world_id, token),
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
);
`;
