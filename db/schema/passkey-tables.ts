import {
  erasable,
  idOf,
  list,
  looseId,
  number,
  table,
  text,
  time,
  timeOrNull,
  type SchemaPart,
} from "../copies/columns.js";

/** Tables for passkeys. */
export const passkeyTables: SchemaPart = [
  /* sql */ `
-- The passkeys by which people sign in.
CREATE TABLE passkeys (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  -- The id of the credential, in base64url.
  id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  name TEXT NOT NULL,
  -- As a COSE key, in base64url.
  public_key TEXT NOT NULL,
  -- How often it has signed; 0 if the authenticator does not count.
  counter BIGINT NOT NULL,
  -- The host whose pages may use it.
  host TEXT NOT NULL,
  -- JSON: how a browser reaches the authenticator.
  transports TEXT NOT NULL,
  -- What proved the identity of the person who added it.
  proof TEXT NOT NULL,
  created BIGINT NOT NULL,
  -- NULL if it was never used.
  used BIGINT,
  PRIMARY KEY (world_id, id)
);
CREATE INDEX passkeys_by_user ON passkeys (world_id, user_id, created);`,
  erasable(
    table("passkeys", "world_id id", "export", {
      world_id: text,
      id: text,
      user_id: looseId("users"),
      name: text,
      public_key: text,
      counter: number,
      host: text,
      transports: list,
      proof: text,
      created: time,
      used: timeOrNull,
    }),
  ),
  /* sql */ `
-- The challenges that were answered, so that no answer counts twice. They are short-lived.
CREATE TABLE passkey_challenges (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  challenge TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (world_id, challenge)
);
CREATE INDEX passkey_challenges_by_time ON passkey_challenges (world_id, at);`,
  table("passkey_challenges", "world_id challenge", "none", {
    world_id: idOf("worlds"),
    challenge: text,
    at: number,
  }),
];
