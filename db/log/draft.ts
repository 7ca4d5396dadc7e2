import type { FieldChange } from "../contract/audit-store.js";
import { type Author, authorIn, USERS } from "../contract/author.js";
import {
  type AuditColumns,
  type Change,
  type Entry,
  type EntryRow,
  entryRow,
  type Hint,
  INDEX,
  type Position,
  UNAUDITED,
  type Vote,
} from "./entries.js";
import { published } from "./log-events.js";

/** Tags are below this number, which is exact in a double. */
const TAGS = 2 ** 47;

type Voted = Extract<Change, { votes: Vote[] }>;

/** A change as a write gives it: of votes, one vote of the author. */
export type Given = (
  | Exclude<Change, { type: "chat.event" } | Voted>
  | Omit<Extract<Voted, { question: string }>, "votes">
  | Omit<Extract<Voted, { poll: string }>, "votes">
) & {
  /** The fields that an update changed. The entry keeps their names. */
  readonly changes?: readonly FieldChange[] | undefined;
};

/** The sources of times and tags for entries. A simulation passes its own. */
export interface Stamps {
  tag(): number;
  /** The time of day, in milliseconds since 1970. */
  date(): number;
}

/** A tag. An attacker gains nothing by guessing one, and random bytes take ten times as long. */
export const tag = (): number => 1 + Math.floor(Math.random() * (TAGS - 1));

const processStamps: Stamps = { tag, date: () => Date.now() };

/** The state of a {@link Draft} to go back to. */
export interface Mark {
  readonly entries: number;
  readonly votes: number;
  readonly moves: number;
  readonly callers: number;
}

/** A caller of the API who is no user, and the name in the token. */
export interface Caller {
  readonly world_id: string;
  readonly token: string;
  readonly token_id: string;
  /** In milliseconds since 1970. */
  readonly at: number;
}

/** A vote that is not an entry yet. */
interface Pending {
  readonly world: string;
  readonly change: Omit<Voted, "votes">;
  readonly vote: Vote;
}

/**
 * The entries of one transaction, before it commits. It numbers them from the heads of
 * their worlds, which the transaction has locked.
 */
export class Draft {
  readonly #headOf: (world: string) => Position;
  readonly #stamps: Stamps;
  readonly audits: boolean;
  readonly #heads = new Map<string, Position>();
  /** The heads before each of their changes. */
  readonly #moves: { readonly world: string; readonly before: Position }[] = [];
  readonly #hints: Hint<Entry>[] = [];
  /** What the audit has of each of them. */
  readonly #audited: AuditColumns[] = [];
  readonly #votes: Pending[] = [];
  readonly #callers: Caller[] = [];

  /**
   * @param headOf reads the last entry of a world. It is asked once for each world.
   * @param audits whether the audit is kept.
   */
  constructor(headOf: (world: string) => Position, stamps: Stamps = processStamps, audits = true) {
    this.#headOf = headOf;
    this.audits = audits;
    this.#stamps = stamps;
  }

  /** The number of the next entry of a world, which is the id of a chat event that is stored now. */
  next(world: string): number {
    return this.#head(world).seq + 1;
  }

  /** A tag for a chat event that is stored now. */
  newTag(): number {
    return this.#stamps.tag();
  }

  /** Appends an entry. A vote is appended together with the others, at the end. */
  append(world: string, given: Given, by: Author): void {
    if (given.type === "question.voted" || given.type === "poll.voted") {
      const { user = "", connection } = by;
      const vote = connection === undefined ? { user } : { user, connection };
      this.#votes.push({ world, change: given, vote });
      return;
    }
    const seq = this.next(world);
    const tag = this.newTag();
    const at = this.#stamps.date();
    // Copied by name: in Node.js 20, a spread or a rest of an object takes microseconds.
    const entry: Record<string, unknown> = { world, seq, tag, at, by };
    const { changes } = given;
    if (changes) entry.fields = changes.map(({ field }) => field);
    for (const name in given) {
      if (name !== "changes") entry[name] = given[name as keyof Given];
    }
    this.#take(entry as unknown as Entry, changes);
  }

  /** Appends the entry of a chat event, which has the number that is next. */
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
   * Skips some numbers, for the events of an import, which have no hints. An entry has to follow.
   * @returns the first of them.
   */
  skip(world: string, count: number): number {
    const { seq, tag } = this.#head(world);
    this.#move(world, { seq: seq + count, tag });
    return seq + 1;
  }

  /** The present state, to go back to if the write that follows fails. */
  mark(): Mark {
    return {
      entries: this.#hints.length,
      votes: this.#votes.length,
      moves: this.#moves.length,
      callers: this.#callers.length,
    };
  }

  /** Drops the entries appended since. */
  back({ entries, votes, moves, callers }: Mark): void {
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
   * Ends the draft: votes become one entry for each question or poll.
   * @returns all entries in their order.
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

  /** The last entry of each world that got one, after {@link finish}. */
  heads(): { world: string; seq: number; tag: number }[] {
    const worlds = new Set(this.#hints.map(({ entry }) => entry.world));
    return [...worlds].map((world) => ({ world, ...this.#heads.get(world)! }));
  }

  /** The rows of all entries that are no chat events, after {@link finish}. */
  rows(): EntryRow[] {
    const rows: EntryRow[] = [];
    for (let i = 0; i < this.#hints.length; i++) {
      const { entry } = this.#hints[i]!;
      if (entry.type === "chat.event") continue;
      rows.push(entryRow(entry, this.#audited[i]!));
    }
    return rows;
  }

  /** The names of callers who are no users, each once, with the last time. A world may be gone since. */
  callers(): readonly Caller[] {
    if (this.#callers.length < 2) return this.#callers;
    const last = new Map<string, Caller>();
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

  #move(world: string, to: Position): void {
    this.#moves.push({ world, before: this.#head(world) });
    this.#heads.set(world, to);
  }

  #head(world: string): Position {
    let head = this.#heads.get(world);
    if (!head) this.#heads.set(world, (head = this.#headOf(world)));
    return head;
  }
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
