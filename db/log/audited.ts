import { type AuditColumns, type Entry, UNAUDITED } from "./entries.js";
import type { FieldChange } from "./fields.js";
import { published } from "./published.js";

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

/** The type of an entry in the audit; undefined if it is not about the use of a right. */
function auditedAs(entry: Entry): string | undefined {
  if (entry.type === "noted") return entry.act;
  const found = published(entry);
  if (!found || COMMON.has(found.type)) return undefined;
  if (found.type !== "user.updated") return found.type;
  // People change their own profiles.
  const isOwn = entry.by.user === found.data.user_id;
  return isOwn ? undefined : "user.admin_updated";
}

/** The ids of what an entry was about. */
export function subjectOf(entry: Entry): Record<string, unknown> {
  if (entry.type === "noted") return entry.subject;
  const subject = { ...published(entry)?.data };
  delete subject.fields;
  delete subject.state;
  return subject;
}

/**
 * The columns of an entry that the audit reads.
 * @param changes the fields that the entry names, with their values.
 * @param request the id of the request.
 */
export function auditColumns(
  entry: Entry,
  changes: readonly FieldChange[] = [],
  request = entry.by.connection,
): AuditColumns {
  const audit = auditedAs(entry);
  if (audit === undefined) return UNAUDITED;
  const isItem = /^(?:question|poll)\./.test(audit);
  const shownChanges = changes.map((change) =>
    isItem && TEXTS.has(change.field) ? withoutText(change) : shown(change),
  );
  return { audit, changes: JSON.stringify(shownChanges), request: request ?? null };
}

/** The texts of attendees in questions and polls, which may be erased later. */
const TEXTS = new Set(["content", "options"]);

const withoutText = ({ field }: FieldChange): FieldChange => ({ field, before: null, after: null });

/** Names of values that are never shown. */
const SECRET = /secret|passw|private|credential|key|token/i;

const MASK = "***";

/** How many characters a value takes at most, as JSON. */
const MAX_VALUE = 4000;

/** A change as the audit keeps it: of objects, only what differs, without secrets, and bounded. */
function shown({ field, before, after }: FieldChange): FieldChange {
  const [old, now] = differing(before, after);
  const isSecret = SECRET.test(field);
  return { field, before: kept(field, old, isSecret), after: kept(field, now, isSecret) };
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Two values; of two objects, only the names whose values differ. */
function differing(before: unknown, after: unknown): [unknown, unknown] {
  if (!isFields(before) || !isFields(after)) return [before, after];
  const differs = (name: string) => JSON.stringify(before[name]) !== JSON.stringify(after[name]);
  const only = (fields: Fields) =>
    Object.fromEntries(Object.entries(fields).filter(([name]) => differs(name)));
  return [only(before), only(after)];
}

function kept(field: string, value: unknown, isSecret: boolean): unknown {
  if (value === null || value === undefined) return null;
  if (typeof value === "number" || typeof value === "boolean") {
    return isSecret ? MASK : value;
  }
  // Rules have names such as `world.secrets`, and no secrets.
  const safe = field === "permission_config" ? value : masked(value, isSecret);
  if (typeof safe === "string" && safe.length <= SHORT) return safe;
  const size = JSON.stringify(safe).length;
  return size > MAX_VALUE ? `(${size} characters)` : safe;
}

/** A text of so many characters takes at most {@link MAX_VALUE}, as JSON writes a character as up to six. */
const SHORT = MAX_VALUE / 6 - 2;

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
