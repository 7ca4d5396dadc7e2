import type { Act, AuditEntry, AuditSelection } from "../contract/audit.js";
import type { Author } from "../contract/author.js";
import type { FieldChange } from "../log/fields.js";
import { noted } from "../rules/acts.js";
import { absent } from "../rules/preconditions.js";
import { domain, type DomainLog } from "./domain.js";
import type { Reading, Sql } from "./sql.js";

/** How many rows one slice removes. */
const SLICE = 1000;

const HAS_WORLD = "SELECT 1 FROM worlds WHERE id = $1";

/** The conditions of a selection. One without a value holds. */
const FILTER = `world_id = $1
  AND (CAST($2 AS TEXT) IS NULL OR user_id = $2)
  AND at > CAST($3 AS BIGINT) AND at < CAST($4 AS BIGINT)`;

const TYPES = "AND type = ANY ($5)";

const COLUMNS =
  "number, at, kind, user_id, token, type, subject, changes, request_id";

const page = (types: string, place: number) => ({
  count: `SELECT count(*) FROM audit WHERE ${FILTER} ${types}`,
  rows: `SELECT ${COLUMNS} FROM audit WHERE ${FILTER} ${types} ORDER BY number DESC
    LIMIT CAST($${place} AS BIGINT) OFFSET CAST($${place + 1} AS BIGINT)`,
});

const ALL_TYPES = page("", 5);
const SOME_TYPES = page(TYPES, 6);

const CALLERS =
  "SELECT token, token_id FROM api_callers WHERE world_id = $1 AND token = ANY ($2)";

const PRUNE = `DELETE FROM audit WHERE world_id = $1 AND number IN (
  SELECT number FROM audit WHERE world_id = $1 AND at < CAST($2 AS BIGINT)
  ORDER BY at LIMIT ${SLICE})`;

const FORGET =
  "DELETE FROM api_callers WHERE world_id = $1 AND at < CAST($2 AS BIGINT)";

interface Row {
  number: number;
  at: number;
  kind: Author["kind"];
  user_id: string | null;
  token: string | null;
  type: string;
  subject: string;
  changes: string;
  request_id: string | null;
}

const toEntry = ({
  kind,
  user_id,
  token,
  subject,
  changes,
  ...row
}: Row): AuditEntry => ({
  ...row,
  by: { kind, user: user_id ?? undefined, token: token ?? undefined },
  subject: JSON.parse(subject) as Record<string, unknown>,
  changes: JSON.parse(changes) as FieldChange[],
});

/** The reads of the audit. */
export const auditReads = (sql: Reading) => ({
  list: (
    world: string,
    { page, pageSize, user, types, after, before }: AuditSelection,
  ): Promise<{ count: number; entries: AuditEntry[] }> =>
    sql.snapshot(async (sql) => {
      const texts = types ? SOME_TYPES : ALL_TYPES;
      const values = [
        ...[world, user ?? null, after ?? -1],
        before ?? Number.MAX_SAFE_INTEGER,
        ...(types ? [types] : []),
      ];
      const count = Number(await sql.value(texts.count, values));
      const bounds = [pageSize, (page - 1) * pageSize];
      const rows = await sql.all<Row>(texts.rows, [...values, ...bounds]);
      return { count, entries: rows.map(toEntry) };
    }),

  async callers(
    world: string,
    tokens: readonly string[],
  ): Promise<Map<string, string>> {
    if (tokens.length === 0) return new Map();
    const rows = await sql.all<{ token: string; token_id: string }>(CALLERS, [
      ...[world, tokens],
    ]);
    return new Map(rows.map(({ token, token_id }) => [token, token_id]));
  },
});

/** The writes of the audit, beside the rows that other writes add. */
export const auditWrites = (sql: Sql, log: DomainLog) => ({
  async record(world: string, act: Act): Promise<void> {
    if (!(await sql.one(HAS_WORLD, [world]))) throw absent("world");
    log.append(world, noted(act));
  },

  async prune(world: string, before: number, unseen: number): Promise<boolean> {
    const count = await sql.run(PRUNE, [world, before]);
    const forgotten = await sql.run(FORGET, [world, unseen]);
    if (count > 0) log.erased("audit");
    if (forgotten > 0) log.erased("api_callers");
    return count === SLICE;
  },
});

export const audit = domain({
  reads: auditReads,
  writes: auditWrites,
  parameters: { record: 2, prune: 3 },
});
