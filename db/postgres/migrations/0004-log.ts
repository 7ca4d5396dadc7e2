import type { Migration } from "./migration.js";

/** A new tag of an entry, as `Draft.newTag` makes it. */
const TAG = "1 + floor(random() * (2 ^ 47 - 1))::bigint";

/**
 * Statements that begin the log of each world that has none, above the ids of events.
 * @param worlds selects the ids of worlds.
 * @param lastId the last id of an event of any world.
 */
export const beginLogs = (worlds: string, lastId: string) => /* sql */ `
INSERT INTO log (world_id, seq, tag, at, type, author, detail)
  SELECT id, first, ${TAG}, floor(extract(epoch FROM now()) * 1000)::bigint,
    'log.began', '{"kind":"server"}', '{}'
  FROM (
    SELECT '', 1
    UNION ALL SELECT id, 1 + ${lastId} FROM (${worlds}) AS known (id)) AS begun (id, first)
  WHERE NOT EXISTS (SELECT FROM log_heads WHERE world_id = begun.id);
INSERT INTO log_heads (world_id, seq, tag)
  SELECT world_id, seq, tag FROM log WHERE type = 'log.began'
    AND NOT EXISTS (SELECT FROM log_heads AS h WHERE h.world_id = log.world_id);
`;

const migration: Migration = {
  tables: /* sql */ `
-- The last entry of each world, which outlives the world. The empty id stands for all worlds.
CREATE TABLE log_heads (
  world_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  seq BIGINT NOT NULL,
  tag BIGINT NOT NULL
) WITH (fillfactor = 50);

-- All entries but chat events.
CREATE TABLE log (
  world_id TEXT COLLATE "C" NOT NULL,
  seq BIGINT NOT NULL,
  tag BIGINT NOT NULL,
  -- In milliseconds since 1970.
  at BIGINT NOT NULL,
  type TEXT COLLATE "C" NOT NULL,
  -- JSON, as is the detail.
  author TEXT COLLATE "C" NOT NULL,
  detail TEXT COLLATE "C" NOT NULL,
  -- JSON of what the entry hid. It is erased with what it was about, and soon in any case.
  data TEXT COLLATE "C",
  PRIMARY KEY (world_id, seq)
);
CREATE INDEX log_with_data ON log (world_id) WHERE data IS NOT NULL;

-- A world may be gone, and some of its events not erased yet.
${beginLogs("SELECT id FROM worlds UNION SELECT world_id FROM chat_remains", "(SELECT id FROM chat_last)")}

-- The id of an event is its number in the log of its world.
DROP TABLE chat_last;
DROP INDEX chat_events_by_id;
ALTER TABLE chat_events ALTER COLUMN id DROP IDENTITY;
ALTER TABLE chat_events ADD COLUMN tag BIGINT NOT NULL DEFAULT 0;
ALTER TABLE chat_events ALTER COLUMN tag DROP DEFAULT;
-- Who acted, as in the log; NULL if it is the sender.
ALTER TABLE chat_events ADD COLUMN author TEXT COLLATE "C";
-- By an expression, so that PostgreSQL never finds the last events of a small channel by
-- going through those of the whole world: it underestimates how many there are.
CREATE UNIQUE INDEX chat_events_by_id ON chat_events (world_id, (id + 0));
`,
};
export default migration;
