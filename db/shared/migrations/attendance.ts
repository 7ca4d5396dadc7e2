export default /* sql */ `
-- How many people were in a room, once a minute, if there were any.
CREATE TABLE attendance_counts (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  room_id TEXT NOT NULL,
  -- The minute, in milliseconds since 1970.
  at BIGINT NOT NULL,
  people BIGINT NOT NULL,
  PRIMARY KEY (world_id, room_id, at),
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
);
CREATE INDEX attendance_counts_by_time ON attendance_counts (world_id, at);

-- When a user was in a room, where a world keeps it.
CREATE TABLE attendance_visits (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  room_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  -- The session that was on; empty for none.
  session_id TEXT NOT NULL,
  -- In milliseconds since 1970.
  first BIGINT NOT NULL,
  last BIGINT NOT NULL,
  -- In milliseconds.
  duration BIGINT NOT NULL,
  PRIMARY KEY (world_id, room_id, user_id, session_id),
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
);
CREATE INDEX attendance_visits_by_user ON attendance_visits (world_id, user_id);
`;
