import type { SharedMigration } from "./dialects.js";

/**
 * Appends an entry to the log of each world whose older entries of the audit have higher numbers,
 * so that no later entry has the number of one of them.
 */
export const passAudit = /* sql */ `
INSERT INTO log (world_id, seq, tag, at, type, author, detail)
  SELECT h.world_id, last.seq + 1, h.tag + 1, last.at, 'world.raised', '{"kind":"server"}', '{}'
  FROM (SELECT world_id, max(seq) AS seq, max(at) AS at FROM log_kept GROUP BY world_id) AS last
  JOIN log_heads AS h ON h.world_id = last.world_id WHERE last.seq > h.seq;
UPDATE log_heads SET tag = tag + 1, seq = 1 + (
    SELECT max(seq) FROM log_kept AS kept WHERE kept.world_id = log_heads.world_id)
  WHERE seq < (SELECT max(seq) FROM log_kept AS kept WHERE kept.world_id = log_heads.world_id);
`;

/**
 * The columns of the log that only the audit reads.
 * @param type of a text that can be erased.
 */
const columns = (type: string) => /* sql */ `
-- The type of an entry in the audit; null if the audit does not have it.
ALTER TABLE log ADD COLUMN audit ${type};
-- JSON of the fields that it changed, with their values before and after, without secrets.
ALTER TABLE log ADD COLUMN changes ${type};
-- The id of the request or of the connection.
ALTER TABLE log ADD COLUMN request ${type};
CREATE INDEX log_audited ON log (world_id, seq) WHERE audit IS NOT NULL;
`;

/**
 * In SQLite, nothing may change the size of a row with a hidden text, and a column more does. No
 * process follows the log now, so no process needs these texts.
 */
export const auditColumns: readonly SharedMigration[] = [
  {
    sqlite: `
UPDATE log SET data = zeroblob(length(CAST(data AS BLOB))) WHERE typeof(data) = 'text';
${columns("ANY")}`,
  },
  { postgres: columns("TEXT").replace(/\bTEXT\b/g, 'TEXT COLLATE "C"') },
];

export default /* sql */ `
-- The entries of the audit that are older than the log.
CREATE TABLE log_kept (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  seq BIGINT NOT NULL,
  at BIGINT NOT NULL,
  type TEXT NOT NULL,
  author TEXT NOT NULL,
  detail TEXT NOT NULL,
  audit TEXT NOT NULL,
  changes TEXT NOT NULL,
  request TEXT,
  PRIMARY KEY (world_id, seq)
);

-- Until now, the audit was a table of its own. Its rows keep their numbers.
INSERT INTO log_kept (world_id, seq, at, type, author, detail, audit, changes, request)
  SELECT world_id, number, at, 'noted',
    '{"kind":"' || kind || '"' || coalesce(',"user":"' || user_id || '"', '')
      || coalesce(',"token":"' || token || '"', '') || '}',
    '{"act":"' || type || '","subject":' || subject || '}', type, changes, request_id
  FROM audit;
DROP INDEX audit_by_time;
DROP TABLE audit;
${passAudit}
`;
