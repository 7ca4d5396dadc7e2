import type { AuditAct, AuditEntry, AuditSelection, FieldChange } from "../contract/audit-store.js";
import { subjectOf } from "../log/draft.js";
import { entryOf, type EntryRow, KEPT_COLUMNS, storedAuthor } from "../log/entries.js";
import { noted } from "../rules/acts.js";
import { absent } from "../rules/preconditions.js";
import { domain, type DomainLog, type Reading, type Sql } from "./domain.js";

/** Maximum rows that one slice removes. */
const SLICE = 1000;

const HAS_WORLD = "SELECT 1 FROM worlds WHERE id = $1";

/** Filters by time, by author, and by type. The author and the type are optional. */
const FILTER = `world_id = $1 AND at > CAST($2 AS BIGINT) AND at < CAST($3 AS BIGINT)
  AND ($4 OR author = ANY ($5))
  AND ($6 OR audit = ANY ($7))`;

/** Selects the entries after a position in the list. Entries are listed newest first. */
const AFTER = "seq < CAST($10 AS BIGINT)";

/**
 * Selects audited entries that are still in the log, and audited entries already pruned from the
 * log. In SQLite, an erased value is a blob, which compares greater than any text.
 */
const selection = (columns: string, filter = FILTER) =>
  `SELECT ${columns} FROM log WHERE audit < '~' AND ${filter}
   UNION ALL SELECT ${columns} FROM log_kept WHERE ${filter}`;

const COUNT = `SELECT count(*) FROM (${selection("seq")}) AS selected`;

/** The statement has no outer query, because SQLite would then sort the whole selection. */
const PAGE = `${selection(KEPT_COLUMNS, `${FILTER} AND ${AFTER}`)}
  ORDER BY seq DESC LIMIT CAST($8 AS BIGINT) OFFSET CAST($9 AS BIGINT)`;

const CALLERS = "SELECT token, token_id FROM api_callers WHERE world_id = $1 AND token = ANY ($2)";

const PRUNE = `DELETE FROM log_kept WHERE world_id = $1 AND at < CAST($2 AS BIGINT) AND seq IN (
  SELECT seq FROM log_kept WHERE world_id = $1 ORDER BY seq LIMIT ${SLICE})`;

/**
 * Maximum lag of the stored time of a caller's last write. Storing the time with every write would
 * change one more page in each transaction.
 */
const CALLER_AGE_MS = 3_600_000;

/** The conflict clause for inserting a caller that is already stored. */
export const CALLER_SEEN = `ON CONFLICT (world_id, token) DO UPDATE SET at = excluded.at
  WHERE api_callers.at < excluded.at - ${CALLER_AGE_MS}`;

const FORGET = `DELETE FROM api_callers
  WHERE world_id = $1 AND at < CAST($2 AS BIGINT) - ${CALLER_AGE_MS}`;

type Row = Omit<EntryRow, "tag" | "data" | "audit" | "changes"> &
  Readonly<Record<"audit" | "changes", string>>;

function toEntry({ world_id, audit, changes, request, ...row }: Row) {
  const entry = entryOf({ ...row, world: world_id, tag: 0, data: null });
  const { kind, user, token } = entry.by;
  return {
    number: row.seq,
    at: row.at,
    by: { kind, user, token },
    type: audit,
    subject: subjectOf(entry),
    changes: JSON.parse(changes) as FieldChange[],
    request_id: request,
  } satisfies AuditEntry;
}

/** Returns the stored forms of all authors that represent a user. */
const authorsOf = (user: string): string[] =>
  (["user", "api"] as const).map((kind) => storedAuthor({ kind, user }));

export const auditReads = (sql: Reading) => ({
  list: (
    world: string,
    { page, pageSize, place, user, types, after, before }: AuditSelection,
  ): Promise<{ count: number; entries: AuditEntry[] }> =>
    sql.snapshot(async (sql) => {
      const values = [
        world,
        after ?? -1,
        before ?? Number.MAX_SAFE_INTEGER,
        user === undefined,
        user === undefined ? [] : authorsOf(user),
        types === undefined,
        types ?? [],
      ];
      const count = Number(await sql.value(COUNT, values));
      const [seq = Number.MAX_SAFE_INTEGER] = place ?? [];
      const bounds = [pageSize, (page - 1) * pageSize, seq];
      const rows = await sql.all<Row>(PAGE, [...values, ...bounds]);
      return { count, entries: rows.map(toEntry) };
    }),

  async callers(world: string, tokens: readonly string[]): Promise<Map<string, string>> {
    if (tokens.length === 0) return new Map();
    const rows = await sql.all<{ token: string; token_id: string }>(CALLERS, [world, tokens]);
    return new Map(rows.map(({ token, token_id }) => [token, token_id]));
  },
});

export const auditWrites = (sql: Sql, log: DomainLog) => ({
  async record(world: string, act: AuditAct): Promise<void> {
    if (!(await sql.one(HAS_WORLD, [world]))) throw absent("world");
    log.append(world, noted(act));
  },

  async prune(world: string, before: number, unseen: number): Promise<boolean> {
    const count = await sql.run(PRUNE, [world, before]);
    const forgotten = await sql.run(FORGET, [world, unseen]);
    if (count > 0) log.erased("log_kept");
    if (forgotten > 0) log.erased("api_callers");
    return count === SLICE;
  },
});

export const audit = domain({
  reads: auditReads,
  writes: auditWrites,
  parameters: { record: 2, prune: 3 },
});
