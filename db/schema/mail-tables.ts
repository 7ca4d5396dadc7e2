import {
  erasable,
  idOf,
  number,
  numberOrNull,
  object,
  oneOf,
  table,
  text,
  textOrNull,
  time,
  type SchemaPart,
} from "../copies/columns.js";

/** Tables for the queue of mails, and for links by e-mail. */
export const mailTables: SchemaPart = [
  /* sql */ `
-- Mails that wait, and what became of the others.
CREATE TABLE mails (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  -- Counts up: the order of creation.
  number COUNTER,
  id TEXT NOT NULL UNIQUE,
  -- What the mail is for. There is never a second mail for it.
  act TEXT NOT NULL,
  kind TEXT NOT NULL,
  -- NULL if the mail has an address of its own.
  invitation_id TEXT,
  -- NULL if it is the address of the invitation, and once the mail has left the queue.
  recipient TEXT,
  -- JSON: what a host wrote, and what the kind needs.
  detail TEXT NOT NULL,
  -- Mails with a lower one go first.
  priority BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  state TEXT NOT NULL,
  -- How often a process has claimed it.
  attempts BIGINT NOT NULL,
  error TEXT,
  -- The process that claimed it last.
  holder TEXT,
  changed_at BIGINT NOT NULL,
  UNIQUE (world_id, number),
  UNIQUE (world_id, act),
  FOREIGN KEY (world_id, invitation_id) REFERENCES invitations (world_id, id) ON DELETE CASCADE
);
CREATE INDEX mails_by_invitation ON mails (world_id, invitation_id, number);
CREATE INDEX mails_open ON mails (state, priority, due_at) WHERE state IN ('waiting', 'sending');`,
  erasable(
    table("mails", "world_id number; id; world_id act", "none", {
      number,
      world_id: text,
      id: text,
      act: text,
      kind: oneOf("invitation", "reminder", "request", "login", "test"),
      invitation_id: { ...textOrNull, of: "invitations" },
      recipient: textOrNull,
      detail: object,
      priority: number,
      due_at: time,
      state: oneOf("waiting", "sending", "sent", "failed"),
      attempts: number,
      error: textOrNull,
      holder: textOrNull,
      changed_at: time,
    }),
  ),
  /* sql */ `
-- Who wants no more mails about the event.
CREATE TABLE mail_stops (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  invitation_id TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (world_id, invitation_id),
  FOREIGN KEY (world_id, invitation_id) REFERENCES invitations (world_id, id) ON DELETE CASCADE
);`,
  table("mail_stops", "world_id invitation_id", "export", {
    world_id: text,
    invitation_id: idOf("invitations"),
    at: time,
  }),
  /* sql */ `
-- The codes in links by e-mail: only their hashes. A code is deleted when it is used.
CREATE TABLE login_codes (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  hash TEXT NOT NULL,
  -- NULL for an address that nobody has: the server does the same as for any other.
  invitation_id TEXT,
  page TEXT NOT NULL,
  ends BIGINT NOT NULL,
  PRIMARY KEY (world_id, hash),
  FOREIGN KEY (world_id, invitation_id) REFERENCES invitations (world_id, id) ON DELETE CASCADE
);
CREATE INDEX login_codes_by_invitation ON login_codes (world_id, invitation_id);`,
  table("login_codes", "world_id hash", "none", {
    world_id: text,
    hash: text,
    invitation_id: { ...textOrNull, of: "invitations" },
    page: text,
    ends: time,
  }),
  /* sql */ `
-- How often somebody has asked for a link by e-mail, by address, by network and in all. The names
-- are keyed hashes.
CREATE TABLE login_rates (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  count BIGINT NOT NULL,
  ends BIGINT NOT NULL,
  PRIMARY KEY (world_id, name)
);`,
  table("login_rates", "world_id name", "none", {
    world_id: text,
    name: text,
    count: number,
    ends: time,
  }),
  /* sql */ `
-- When the next mail may leave, for all processes together: one row.
CREATE TABLE mail_pace (
  name TEXT NOT NULL PRIMARY KEY,
  next_at BIGINT
);`,
  table("mail_pace", "name", "none", { name: text, next_at: numberOrNull }),
];
