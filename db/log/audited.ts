import type { Author } from "../contract/author.js";
import type { Entry } from "./entries.js";
import type { FieldChange } from "./fields.js";
import { published } from "./published.js";

/** A row of the audit. */
export interface AuditRow {
  readonly world_id: string;
  readonly at: number;
  readonly kind: Author["kind"];
  readonly user_id: string | null;
  readonly token: string | null;
  readonly type: string;
  /** JSON. */
  readonly subject: string;
  /** JSON. */
  readonly changes: string;
  readonly request_id: string | null;
}

/** What an entry is in the audit. */
interface Audited {
  readonly type: string;
  readonly subject: Readonly<Record<string, unknown>>;
}

/** Types of the feed that no right is needed for. */
const COMMON = new Set<string>([
  "user.created",
  "chat.message",
  "chat.edited",
  "chat.deleted",
  "chat.joined",
  "chat.left",
  "file.added",
  "question.created",
  "question.votes",
  "poll.votes",
]);

/** What an entry is in the audit; undefined for nothing. */
function audited(entry: Entry): Audited | undefined {
  if (entry.type === "noted")
    return { type: entry.act, subject: entry.subject };
  const found = published(entry);
  if (!found || COMMON.has(found.type)) return undefined;
  const subject: Record<string, unknown> = {};
  for (const name in found.data) {
    if (name !== "fields" && name !== "state") subject[name] = found.data[name];
  }
  if (found.type !== "user.updated") return { type: found.type, subject };
  // People change their own profiles.
  const isOwn = entry.by.user === subject.user_id;
  return isOwn ? undefined : { type: "user.admin_updated", subject };
}

/**
 * The row of the audit for an entry, unless it is not about the use of a right.
 * @param request the id of the request or of the connection.
 */
export function auditRowOf(
  entry: Entry,
  changes: readonly FieldChange[] = [],
  request?: string,
): AuditRow | undefined {
  const found = audited(entry);
  if (!found) return undefined;
  return auditRow(entry, found, changes.map(withoutTexts(entry)), request);
}

/** The texts of attendees, which may be erased later. */
const TEXTS = new Set(["content", "options"]);

/** Leaves the values out that may be erased later: of questions and polls, the texts. */
const withoutTexts =
  ({ type }: Entry) =>
  (change: FieldChange): FieldChange =>
    TEXTS.has(change.field) && /^(question|poll)\./.test(type)
      ? { field: change.field, before: null, after: null }
      : change;

/** The row of the audit for an act. */
export const auditRow = (
  { world, at, by }: Pick<Entry, "world" | "at" | "by">,
  { type, subject }: Audited,
  changes: readonly FieldChange[] = [],
  request?: string,
): AuditRow => ({
  world_id: world,
  at,
  kind: by.kind,
  type,
  user_id: by.user ?? null,
  token: by.token ?? null,
  subject: JSON.stringify(subject),
  changes: JSON.stringify(changes.map(shown)),
  request_id: request ?? by.connection ?? null,
});

/** Names of values that are never shown. */
const SECRET = /secret|passw|private|credential|key|token/i;

const MASK = "***";

/** How many characters a value takes at most, as JSON. */
const MAX_VALUE = 4000;

/** A change as the audit keeps it: of objects, only what differs, without secrets, and bounded. */
function shown({ field, before, after }: FieldChange): FieldChange {
  const [old, now] = differing(before, after);
  return { field, before: kept(field, old), after: kept(field, now) };
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Two values; of two objects, only the names whose values differ. */
function differing(before: unknown, after: unknown): [unknown, unknown] {
  if (!isFields(before) || !isFields(after)) return [before, after];
  const differs = (name: string) =>
    JSON.stringify(before[name]) !== JSON.stringify(after[name]);
  const only = (fields: Fields) =>
    Object.fromEntries(
      Object.entries(fields).filter(([name]) => differs(name)),
    );
  return [only(before), only(after)];
}

function kept(field: string, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (typeof value === "number" || typeof value === "boolean") {
    return SECRET.test(field) ? MASK : value;
  }
  // Rules have names such as `world.secrets`, and no secrets.
  const safe =
    field === "permission_config" ? value : masked(value, SECRET.test(field));
  const size = JSON.stringify(safe).length;
  return size > MAX_VALUE ? `(${size} characters)` : safe;
}

/** A value without the secrets in it, which their names tell. */
function masked(value: unknown, isSecret: boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => masked(one, isSecret));
  if (isFields(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [
        name,
        // A list of keys has the issuers, which are no secret.
        masked(one, SECRET.test(name) || (isSecret && name === "value")),
      ]),
    );
  }
  return isSecret ? MASK : value;
}
