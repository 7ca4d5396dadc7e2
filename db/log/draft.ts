import { changedFields, type FieldChange } from "../contract/audit-store.js";
import { type Author, authorIn, USERS } from "../contract/author.js";
import {
  type AuditColumns,
  type Change,
  type Entry,
  type EntryRow,
  entryRow,
  type Hint,
  INDEX,
  type LogPosition,
  UNAUDITED,
  type Vote,
} from "./entries.js";
import { published } from "./log-events.js";

/** Exclusive upper bound for tags, which is exact in a double. */
const TAGS = 2 ** 47;

type Voted = Extract<Change, { votes: Vote[] }>;

/** A change, as passed by a write. A change to votes contains a single vote by the author. */
export type GivenEntry = (
  | Exclude<Change, { type: "chat.event" } | Voted>
  | Omit<Extract<Voted, { question: string }>, "votes">
  | Omit<Extract<Voted, { poll: string }>, "votes">
) & {
  /** The fields that an update changed. The entry itself keeps only the names of the fields. */
  readonly changes?: readonly FieldChange[] | undefined;
};

/** The sources of times and tags for entries. A simulation passes its own sources. */
export interface Stamps {
  tag(): number;
  /** The current time, in milliseconds since 1970. */
  date(): number;
}

/** Generates a tag. Guessing a tag is of no use to an attacker, and random bytes take ten times as long. */
export const tag = (): number => 1 + Math.floor(Math.random() * (TAGS - 1));

const processStamps: Stamps = { tag, date: () => Date.now() };

/** A state to which a {@link LogDraft} can be rolled back. */
export interface Savepoint {
  readonly entries: number;
  readonly votes: number;
  readonly moves: number;
  readonly callers: number;
}

/** An API caller that is not a user, with the `uid` from its token. */
export interface ApiCallerRow {
  readonly world_id: string;
  readonly token: string;
  readonly token_id: string;
  /** In milliseconds since 1970. */
  readonly at: number;
}

/** A vote that has not been turned into an entry yet. */
interface Pending {
  readonly world: string;
  readonly change: Omit<Voted, "votes">;
  readonly vote: Vote;
}

/**
 * The entries of one transaction before its commit. The entries' numbers continue from the last
 * entry in each world's log, which the transaction has locked.
 */
export class LogDraft {
  readonly #headOf: (world: string) => LogPosition;
  readonly #stamps: Stamps;
  readonly audits: boolean;
  readonly #heads = new Map<string, LogPosition>();
  /** The previous head for each change to a head. */
  readonly #moves: { readonly world: string; readonly before: LogPosition }[] = [];
  readonly #hints: Hint<Entry>[] = [];
  /** The audit columns of each entry. */
  readonly #audited: AuditColumns[] = [];
  readonly #votes: Pending[] = [];
  readonly #callers: ApiCallerRow[] = [];

  /**
   * @param headOf reads the position of a world's last entry; called once per world.
   * @param audits whether to record audit entries.
   */
  constructor(
    headOf: (world: string) => LogPosition,
    stamps: Stamps = processStamps,
    audits = true,
  ) {
    this.#headOf = headOf;
    this.audits = audits;
    this.#stamps = stamps;
  }

  /** Returns the number of a world's next entry, which is also the id of a chat event stored now. */
  next(world: string): number {
    return this.#head(world).seq + 1;
  }

  /** Returns a tag for a chat event stored now. */
  newTag(): number {
    return this.#stamps.tag();
  }

  /** Appends an entry. Votes are collected and appended together at the end. */
  append(world: string, given: GivenEntry, by: Author): void {
    if (given.type === "question.voted" || given.type === "poll.voted") {
      const { user = "", connection } = by;
      const vote = connection === undefined ? { user } : { user, connection };
      this.#votes.push({ world, change: given, vote });
      return;
    }
    const seq = this.next(world);
    const tag = this.newTag();
    const at = this.#stamps.date();
    // Copied by name, because object spread and rest take microseconds in Node.js 20.
    const entry: Record<string, unknown> = { world, seq, tag, at, by };
    const named = "fields" in given && given.fields ? changedFields(...given.fields) : undefined;
    const { changes = named } = given;
    if (changes) entry.fields = changes.map(({ field }) => field);
    for (const name in given) {
      if (name !== "changes") entry[name] = given[name as keyof GivenEntry];
    }
    this.#take(entry as unknown as Entry, changes);
  }

  /** Appends the entry for a chat event. The event's id must be the log's next number. */
  put(given: Entry): void {
    this.#put(given, UNAUDITED);
  }

  #put(given: Entry, audited: AuditColumns): void {
    const { world, seq, tag, by } = given;
    const isPlain = by.request === undefined && by.uid === undefined;
    const entry = isPlain ? given : { ...given, by: authorIn(by) };
    this.#hints.push({ entry, previous: this.#head(world).tag });
    this.#audited.push(audited);
    this.#move(world, { seq, tag });
  }

  /**
   * Skips numbers for the events in an import, which have no hints. An entry must be appended
   * afterward.
   * @returns the first skipped number.
   */
  skip(world: string, count: number): number {
    const { seq, tag } = this.#head(world);
    this.#move(world, { seq: seq + count, tag });
    return seq + 1;
  }

  /** Returns a savepoint to roll back to if the next write fails. */
  mark(): Savepoint {
    return {
      entries: this.#hints.length,
      votes: this.#votes.length,
      moves: this.#moves.length,
      callers: this.#callers.length,
    };
  }

  /** Rolls back to a savepoint. */
  back({ entries, votes, moves, callers }: Savepoint): void {
    this.#callers.length = callers;
    this.#votes.length = votes;
    this.#hints.length = entries;
    this.#audited.length = entries;
    while (this.#moves.length > moves) {
      const { world, before } = this.#moves.pop()!;
      this.#heads.set(world, before);
    }
  }

  /**
   * Finishes the draft, combining votes into one entry per question or poll.
   * @returns the hints about all entries, in order.
   */
  finish(): readonly Hint<Entry>[] {
    const votes = new Map<string, Omit<Pending, "vote"> & { votes: Vote[] }>();
    for (const { world, change, vote } of this.#votes.splice(0)) {
      const { question, poll } = change as { question?: string; poll?: string };
      const key = `${world} ${question ?? poll}`;
      const known = votes.get(key);
      if (known) known.votes.push(vote);
      else votes.set(key, { world, change, votes: [vote] });
    }
    for (const { world, change, votes: all } of votes.values()) {
      const seq = this.next(world);
      const tag = this.newTag();
      const at = this.#stamps.date();
      const stamp = { world, seq, tag, at, by: USERS, votes: all };
      this.put(Object.assign(stamp, change) as Entry);
    }
    return this.#hints;
  }

  /** Returns the position of the last entry in each world that has new entries. Call after {@link finish}. */
  heads(): { world: string; seq: number; tag: number }[] {
    const worlds = new Set(this.#hints.map(({ entry }) => entry.world));
    return [...worlds].map((world) => ({ world, ...this.#heads.get(world)! }));
  }

  /** Returns the rows of all entries except chat events. Call after {@link finish}. */
  rows(): EntryRow[] {
    const rows: EntryRow[] = [];
    for (let i = 0; i < this.#hints.length; i++) {
      const { entry } = this.#hints[i]!;
      if (entry.type === "chat.event") continue;
      rows.push(entryRow(entry, this.#audited[i]!));
    }
    return rows;
  }

  /**
   * Returns each API caller that is not a user once, with the time of the caller's last entry. The
   * caller's world may have been deleted since.
   */
  callers(): readonly ApiCallerRow[] {
    if (this.#callers.length < 2) return this.#callers;
    const last = new Map<string, ApiCallerRow>();
    for (const caller of this.#callers) {
      last.set(`${caller.world_id} ${caller.token}`, caller);
    }
    return [...last.values()];
  }

  #take(entry: Entry, changes?: readonly FieldChange[]): void {
    const { world, by, at } = entry;
    if (world === INDEX) return this.put(entry);
    const { token, uid, request } = by;
    if (uid !== undefined && token !== undefined) {
      this.#callers.push({ world_id: world, token, token_id: uid, at });
    }
    this.#put(entry, this.audits ? auditColumns(entry, changes, request) : UNAUDITED);
  }

  #move(world: string, to: LogPosition): void {
    this.#moves.push({ world, before: this.#head(world) });
    this.#heads.set(world, to);
  }

  #head(world: string): LogPosition {
    let head = this.#heads.get(world);
    if (!head) this.#heads.set(world, (head = this.#headOf(world)));
    return head;
  }
}

/** Feed types that do not require any permission. */
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

/** Returns the audit type of an entry, or undefined if the entry required no permission. */
function auditedAs(entry: Entry): string | undefined {
  if (entry.type === "noted") return entry.act;
  const found = published(entry);
  if (!found || COMMON.has(found.type)) return undefined;
  if (found.type !== "user.updated") return found.type;
  // Changing one's own profile requires no permission.
  const isOwn = entry.by.user === found.data.user_id;
  return isOwn ? undefined : "user.admin_updated";
}

/** Returns the ids of the records that an entry is about. */
export function subjectOf(entry: Entry): Record<string, unknown> {
  if (entry.type === "noted") return entry.subject;
  const subject = { ...published(entry)?.data };
  delete subject.fields;
  delete subject.state;
  delete subject.on_stage;
  return subject;
}

/**
 * Returns the audit columns of an entry.
 * @param changes the fields that the entry names, with their values.
 * @param request the id of the request; by default, the connection's id.
 */
function auditColumns(
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

/** Fields in questions and polls that contain attendees' text, which may be erased later. */
const TEXTS = new Set(["content", "options"]);

const withoutText = ({ field }: FieldChange): FieldChange => ({ field, before: null, after: null });

/** Matches the names of fields whose values are never shown. */
const SECRET = /secret|passw|private|credential|key|token/i;

const MASK = "***";

/** Maximum length of a value as JSON, in characters. */
const MAX_VALUE = 4000;

/**
 * Returns a change in the form that the audit keeps: objects reduced to their differences, secrets
 * masked, and size limited.
 */
function shown({ field, before, after }: FieldChange): FieldChange {
  const [old, now] = differing(before, after);
  const isSecret = SECRET.test(field);
  return { field, before: kept(field, old, isSecret), after: kept(field, now, isSecret) };
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns both values. If both are objects, they are reduced to the properties that differ. */
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
  // Rule names such as `world.secrets` look secret, but rules contain no secrets.
  const safe = field === "permission_config" ? value : masked(value, isSecret);
  if (typeof safe === "string" && safe.length <= SHORT) return safe;
  const size = JSON.stringify(safe).length;
  return size > MAX_VALUE ? `(${size} characters)` : safe;
}

/**
 * Length up to which a string always fits into {@link MAX_VALUE}, because JSON needs up to six
 * characters for each character of the string.
 */
const SHORT = MAX_VALUE / 6 - 2;

/** Returns a value with its secrets masked. Secrets are recognized by their property names. */
function masked(value: unknown, isSecret: boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => masked(one, isSecret));
  if (isFields(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [
        name,
        // Only `world.update` reads blocked words, and other keys read the audit.
        name === "blocked_words"
          ? MASK
          : // In a list of keys, only the values are secret, not the issuers.
            masked(one, SECRET.test(name) || (isSecret && name === "value")),
      ]),
    );
  }
  return isSecret ? MASK : value;
}
