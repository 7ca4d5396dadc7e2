export default /* sql */ `
-- In milliseconds since 1970. Of a user from before, it is when the user was last seen until then.
ALTER TABLE users ADD COLUMN created BIGINT NOT NULL DEFAULT 0;
UPDATE users SET created = last_seen;
CREATE INDEX users_by_creation ON users (world_id, created, id)
  WHERE token_id IS NOT NULL OR client_id IS NOT NULL;
`;
