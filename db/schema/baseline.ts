import { tag as newTag } from "../log/draft.js";
import { schema } from "./schema.js";

// The tables of release 0.1.0, for both engines. ./migrations.ts describes the rules for this SQL.
//
// Every key begins with the world, so that a larger installation could be sharded by world. All
// text is compared by code point. JSON is stored as text, because the order of its names matters.
// Times are in milliseconds since 1970.

const functions = /* sql */ `
-- For indexes: a PostgreSQL B-tree rejects keys longer than 2,700 bytes.
CREATE FUNCTION foyer_digest(text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE -- postgres
  RETURN sha256(convert_to($1, 'UTF8')); -- postgres
-- For checks only: PostgreSQL 16 is the first to know IS JSON.
CREATE FUNCTION foyer_is_json(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT AS $$ -- postgres
BEGIN -- postgres
  PERFORM $1::json; -- postgres
  RETURN TRUE; -- postgres
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN -- postgres
  RETURN FALSE; -- postgres
END $$; -- postgres
`;

export const baseline = [functions, ...schema.filter((part) => typeof part === "string")].join(
  "\n",
);

/** Returns the SQL that begins the log of all worlds in a new database. */
export const beginIndex = (tag = newTag(), now = Date.now()): string => /* sql */ `
INSERT INTO log (world_id, seq, tag, at, type, author, detail)
  VALUES ('', 1, ${tag}, ${now}, 'log.began', '{"kind":"server"}', '{}');
INSERT INTO log_heads (world_id, seq, tag) VALUES ('', 1, ${tag});
`;
