export default /* sql */ `
-- The key with which this server signs for push services: one row.
CREATE TABLE push_keys (
  name TEXT PRIMARY KEY,
  public_key TEXT NOT NULL,
  private_key TEXT NOT NULL
);
-- The browsers that get messages while their page is closed.
CREATE TABLE push_subscriptions (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  endpoint TEXT NOT NULL,
  user_id TEXT NOT NULL,
  p256dh TEXT NOT NULL,
  auth TEXT NOT NULL,
  -- In milliseconds since 1970.
  created BIGINT NOT NULL,
  PRIMARY KEY (world_id, endpoint)
);
CREATE INDEX push_subscriptions_by_user ON push_subscriptions (world_id, user_id, created);
-- The notifications that a process sends, so that no other process does.
CREATE TABLE push_claims (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  -- In milliseconds since 1970.
  at BIGINT NOT NULL,
  PRIMARY KEY (world_id, name)
);
CREATE INDEX push_claims_by_time ON push_claims (world_id, at);
`;
