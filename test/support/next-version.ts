import { migrations } from "../../db/schema/migrations.js";

// A made-up next schema version, for tests of upgrades. A test imports it, or starts `foyer` with
// `NODE_OPTIONS=--import=<this file>`.

/** The statements of the next version. The variable NEXT_VERSION overrides them. */
export const NEXT_VERSION =
  process.env.NEXT_VERSION ??
  `CREATE TABLE notes (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  number COUNTER,
  text ERASABLE,
  UNIQUE (world_id, number)
);
CREATE INDEX notes_by_world ON notes (world_id, number);
UPDATE worlds SET title = title || '!';
`;

migrations.push(NEXT_VERSION);
