import type { RecordEvent, RecordName } from "../../schemas/plain/records.js";
import type { ReportAction, ReportKind } from "../../schemas/plain/moderation/reports.js";
import type { PermissionConfig } from "../../schemas/rules.js";
import type { Announcement } from "../contract/announcement-store.js";
import { type Author, SERVER } from "../contract/author.js";
import type { ChatDelivery, StoredReadMark } from "../contract/chat-store.js";
import type { Poll } from "../contract/poll-store.js";
import type { Question } from "../contract/question-store.js";

export interface LogPosition {
  /** The entry's number; 0 before the first entry. */
  readonly seq: number;
  /** The entry's tag, which distinguishes entries that have the same number in different histories. */
  readonly tag: number;
}

/** The fields common to the entries in all logs. */
export interface Logged extends LogPosition {
  readonly world: string;
}

/** A consistent range of a world's log. */
export interface Stretch<E extends Logged> {
  /**
   * The tag of the entry just before the range. It is 0 at the start of the log, and undefined if
   * the log has no such entry.
   */
  readonly tag: number | undefined;
  /** Ordered by number. Erased entries leave gaps in the numbering. */
  readonly entries: readonly E[];
}

/** The history of a database that can fail over to another server. */
export interface History {
  /** Changes with each failover. */
  readonly name: string;
  /** Whether the failover server is guaranteed to have every commit that anyone has read. */
  readonly isKept: boolean;
}

/** The reads that a {@link Follower} needs. Each read sees everything committed before the read began. */
export interface LogReads<E extends Logged> {
  /** Returns the position of each world's last entry, in the given order, with a single statement. */
  heads(worlds: readonly string[]): Promise<readonly LogPosition[]>;
  /** Returns at most `limit` entries after `seq`. */
  since(world: string, seq: number, limit: number): Promise<Stretch<E>>;
  /**
   * Returns the database's current history, or undefined if unknown. Absent for a store in a single
   * file, which has only one history.
   */
  readonly history?: () => Promise<History | undefined>;
  /** Returns a number that changes with each commit. Absent unless the store can read it within microseconds. */
  readonly state?: () => number;
}

/** A committed entry as published to other processes. */
export interface Hint<E extends Logged> {
  readonly entry: E;
  /** The tag of the previous entry, which distinguishes histories; 0 for the first entry. */
  readonly previous: number;
}

export interface Vote {
  readonly user: string;
  /** The id of the connection that sent the vote. */
  readonly connection?: string | undefined;
}

/** A moderation decision about a user, as exposed in the feed. */
export type PublicModeration = "none" | "silenced" | "banned";

/**
 * The creation, update or deletion of a record. The entry names the record by its id, such as
 * `session` in `session.created`.
 */
export type RecordChange = {
  [R in RecordName]: { type: `${R}.${RecordEvent}`; fields?: string[] } & Record<R, string>;
}[RecordName];

/** The change that a write made. The entry adds the world, among other fields. */
export type Change =
  | RecordChange
  | {
      type:
        | "world.created"
        | "world.updated"
        | "world.deleted"
        /** A node found that the database had lost entries and raised the next entry number. */
        | "world.raised"
        /** The log's first entry. */
        | "log.began";
    }
  | {
      type:
        | "room.created"
        /** A user in the world created the room, which follows all existing rooms. */
        | "room.opened"
        | "room.updated"
        /** Only the room's `schedule_data` changed. */
        | "room.scheduled";
      room: string;
    }
  | {
      type: "room.deleted";
      room: string;
      /** The deleted room's rules. */
      rules: PermissionConfig;
    }
  | { type: "rooms.reordered" }
  | {
      type: "user.blocked" | "user.unblocked" | "user.erased";
      user: string;
    }
  | {
      type:
        /** The user is new, returned with different traits, or logged in after a period of inactivity. */
        "user.entered" | "user.updated";
      user: string;
      /** Whether the user is a guest who waits for approval. */
      waits?: boolean | undefined;
    }
  | {
      type: "user.moderated";
      user: string;
      state?: PublicModeration;
      /** Whether the user had waited for approval. */
      waited?: boolean | undefined;
    }
  | {
      type: "announcement.created" | "announcement.updated";
      announcement: string;
      /** Whether the announcement was visible before the change. */
      wasVisible: boolean;
      /** The announcement's public form, if the change hid it. Omits any text that the change introduced. */
      hidden?: Announcement | undefined;
    }
  /** A new event in a channel. The event's id is the entry's number. */
  | { type: "chat.event"; channel: string; delivery: ChatDelivery }
  | { type: "chat.reacted"; channel: string; event: number }
  /** A message is held for a moderator. `held` is its id, and `user` its author. */
  | { type: "chat.held"; channel: string; held: string; user: string }
  /** A message is no longer held. */
  | {
      type: "chat.unheld";
      channel: string;
      held: string;
      user: string;
      state: "approved" | "rejected";
      /** The id of the event that was created when the message was approved. */
      event?: number;
      /** The moderator's reason for the author. Undefined once it has been erased. */
      hidden?: { readonly reason: string };
    }
  /** A user reported an item. `isNew` if the item had no open report. */
  | { type: "report.created"; report: string; kind: ReportKind; inRoom: string | null }
  | {
      type: "report.resolved";
      report: string;
      kind: ReportKind;
      inRoom: string | null;
      action: ReportAction;
    }
  /** Users joined or left the channel, or the channel was hidden from them or became visible to them. */
  | { type: "chat.memberships"; channel: string; users: string[] }
  | {
      type: "chat.marked";
      /** Empty when the entry was read from the store, which keeps marks in a separate table. */
      marks: StoredReadMark[];
    }
  /** The content of some events was erased, or events were removed without an event that announces the removal. */
  | { type: "chat.erased" }
  | {
      type: "question.saved";
      room: string;
      question: string;
      /** Whether the change hid the question: it was visible before but not after. */
      hid: boolean;
      /**
       * The question's public form, if the change hid it. Omits any text that the change
       * introduced. Undefined once this form has been erased.
       */
      hidden?: Question | undefined;
    }
  | {
      type: "question.deleted";
      room: string;
      question: string;
      wasVisible: boolean;
    }
  | {
      type: "question.voted";
      room: string;
      question: string;
      /** Empty when the entry was read from the store, whose log does not keep votes. */
      votes: Vote[];
    }
  /** The pinned question changed; null if no question is pinned. */
  | { type: "question.pinned"; room: string; question: string | null }
  | {
      type: "poll.saved";
      room: string;
      poll: string;
      /** Whether the change hid the poll: it was open or closed before, but is neither afterward. */
      hid: boolean;
      /**
       * The poll's public form, if the change hid it. Omits any text that the change introduced.
       * Undefined once this form has been erased.
       */
      hidden?: Poll | undefined;
      /** The kind of the poll, unless every client supports it. */
      kind?: string;
    }
  | {
      type: "poll.deleted";
      room: string;
      poll: string;
      /** Whether the poll was open or closed before the deletion. */
      wasPublic: boolean;
      /** The kind of the poll, unless every client supports it. */
      kind?: string;
    }
  /** Users voted in the poll or changed their votes. For `votes`, see `question.voted`. */
  | { type: "poll.voted"; room: string; poll: string; votes: Vote[] }
  /** The pinned poll changed; null if no poll is pinned. */
  | { type: "poll.pinned"; room: string; poll: string | null }
  /** An import changed these numbers of sessions. The entries for the individual sessions precede it. */
  | {
      type: "program.imported";
      created: number;
      updated: number;
      deleted: number;
    }
  | { type: "program.favored"; user: string }
  | { type: "session.rated"; session: string; user: string }
  /** The address of the user's personal calendar changed. */
  | { type: "program.linked"; user: string }
  | { type: "file.added" | "file.deleted"; file: string }
  /** A call began, because the first person joined or because a call in a direct channel rings. */
  | { type: "call.started"; channel: string; call: string; isDirect: boolean }
  /**
   * A call ended. If a moderator ended it for everyone, `users` lists its participants; otherwise,
   * all participants had left. `seconds` is the duration of a direct call; a missed call has none.
   */
  | {
      type: "call.ended";
      channel: string;
      call: string;
      isDirect: boolean;
      users?: readonly string[];
      seconds?: number;
    }
  /** A member of a direct channel declined a call. */
  | { type: "call.declined"; channel: string; call: string; user: string }
  /** A person's first device joined a call, or the person's last device left. Kiosks are omitted. */
  | { type: "call.joined" | "call.left"; channel: string; user: string; isDirect: boolean }
  /** The sources that a person publishes in a call changed. */
  | { type: "call.published"; channel: string; user: string }
  /** A person was invited to a room's stage, or the invitation ended. */
  | { type: "call.staged"; room: string; user: string; on: boolean }
  | { type: "hand.raised" | "hand.lowered"; room: string; user: string }
  /** A host changed what a room's screen shows. */
  | { type: "screen.shown"; room: string }
  /** A final line of captions was added, with its number. */
  | { type: "caption.added"; room: string; lang: string; caption: number }
  /** Lines of captions that are not final replaced those before in these languages. */
  | { type: "caption.heard"; room: string; langs: string[] }
  /** Captions of the world were erased. */
  | { type: "caption.erased" }
  /**
   * An action that changes nothing visible to clients, such as the creation of a webhook or an
   * export. The exception is `invite.ended`, which also ends connections.
   */
  | {
      type: "noted";
      act: string;
      subject: Subject;
    };

/**
 * The ids of the records that an action concerns, by name. A chat event has a number as its id. The
 * id of a user who no longer exists is null.
 */
export type Subject = Readonly<Record<string, string | number | null>>;

interface Stamp extends LogPosition {
  /** The id of the world; {@link INDEX} for changes that concern all worlds. */
  readonly world: string;
  /** When the entry was written, in milliseconds since 1970. */
  readonly at: number;
  readonly by: Author;
  /**
   * The names of the fields that an update changed; undefined in entries written by versions of
   * Foyer that did not record the names.
   */
  readonly fields?: readonly string[] | undefined;
  /** Whether the record is new, if the entry type does not imply this. */
  readonly isNew?: boolean | undefined;
}

export type Entry = Change & Stamp;

/**
 * Pseudo-world for log entries that concern all worlds. An entry is appended whenever the host
 * names or issuers that identify a world change, or stop identifying the world.
 */
export const INDEX = "";

/** Receives the entries of each of this process's transactions, in order, before the transaction's writes resolve. */
export type OnAppended = (hints: readonly Hint<Entry>[]) => Promise<unknown> | undefined;

export interface LogStore extends LogReads<Entry> {
  /**
   * Returns the number of the last entry that {@link prune} removed, or of the entry that deleted a
   * previous world with this id; 0 if there is no such entry. A reader that has read up to this
   * number has missed nothing. Chat events with lower numbers may still exist.
   */
  floor(world: string): Promise<number>;
  /**
   * Deletes a slice of a world's entries that are older than `before`, except chat events. For
   * {@link INDEX}, also deletes the remaining entries of deleted worlds. The hidden data in entries
   * is erased after an hour, regardless of `before`. The audit keeps its own entries outside the
   * log.
   * @param before in milliseconds since 1970.
   * @param audited the time before which entries also leave the audit, if they are still in the
   * log.
   * @returns whether there may be more entries to delete.
   */
  prune(world: string, before: number, audited?: number): Promise<boolean>;
}

/** The stored form of an entry, except for chat events. */
export interface EntryRow {
  readonly world_id: string;
  readonly seq: number;
  readonly tag: number;
  readonly at: number;
  readonly type: string;
  /** The {@link Author} as JSON, without the connection. */
  readonly author: string;
  /** All remaining fields as JSON, except votes, marks and `hidden`. */
  readonly detail: string;
  /** The field `hidden` as JSON; null if the entry has no such field or the field has been erased. */
  readonly data: string | null;
  /** The entry's type in the audit; null if the entry is not audited. */
  readonly audit: string | null;
  /** The changed fields and their values as JSON, for the audit; null if the entry is not audited. */
  readonly changes: string | null;
  /** The id of the request or the connection, for the audit. */
  readonly request: string | null;
}

/** The columns of the table `log`, in the engines' insert order. */
export const LOG_COLUMNS: readonly (keyof EntryRow)[] = [
  "world_id",
  "seq",
  "tag",
  "at",
  "type",
  "author",
  "detail",
  "data",
  "audit",
  "changes",
  "request",
];

/** The columns that only the audit reads. */
export type AuditColumns = Pick<EntryRow, "audit" | "changes" | "request">;

/** The columns that the audit keeps when an entry leaves the log. */
export const KEPT_COLUMNS = "world_id, seq, at, type, author, detail, audit, changes, request";

export const UNAUDITED: AuditColumns = { audit: null, changes: null, request: null };

export function entryRow(
  entry: Exclude<Entry, { type: "chat.event" }>,
  { audit, changes, request }: AuditColumns,
): EntryRow {
  const { world, seq, tag, at, by, type, hidden } = entry as typeof entry & {
    hidden?: unknown;
  };
  // Copied by name, because object rest costs microseconds on Node.js 20.
  const detail: Record<string, unknown> = {};
  for (const name in entry) {
    if (!COLUMNS.has(name)) detail[name] = entry[name as keyof typeof entry];
  }
  return {
    world_id: world,
    seq,
    tag,
    at,
    type,
    author: storedAuthor(by),
    detail: JSON.stringify(detail),
    data: hidden === undefined ? null : JSON.stringify(hidden),
    audit,
    changes,
    request,
  };
}

/** Fields stored in another column (`hidden`) or not in the row at all (`votes` and `marks`). */
const BESIDE_DETAIL = ["hidden", "votes", "marks"];

/** The fields of an entry that are excluded from its detail. */
const COLUMNS: ReadonlySet<string> = new Set([
  "world",
  "seq",
  "tag",
  "at",
  "by",
  "type",
  ...BESIDE_DETAIL,
]);

/** Returns the fields in {@link BESIDE_DETAIL} as JSON, or undefined if the entry has no such field. */
export function outsideDetail(entry: Entry): string | undefined {
  const beside: Record<string, unknown> = {};
  let isSome = false;
  for (const name of BESIDE_DETAIL) {
    const value = entry[name as keyof Entry] as unknown;
    if (value === undefined) continue;
    beside[name] = value;
    isSome = true;
  }
  return isSome ? JSON.stringify(beside) : undefined;
}

/** Serializes an author. Equal authors produce equal strings, because the audit compares the strings. */
export const storedAuthor = ({ kind, user, token }: Author): string =>
  user === undefined && token === undefined
    ? `{"kind":"${kind}"}`
    : JSON.stringify({ kind, user, token });

/**
 * Returns the author column for a chat event, whose sender is stored separately.
 * @returns null if the sender is the author.
 */
export const storedAuthorOf = (sender: string | null, by: Author | undefined): string | null =>
  by === undefined || (by.kind === "user" && by.user === sender) ? null : storedAuthor(by);

export function entryOf(row: Omit<EntryRow, "world_id" | keyof AuditColumns> & { world: string }) {
  const { world, seq, tag, at, type, author, detail, data } = row;
  return {
    world,
    seq,
    tag,
    at,
    by: JSON.parse(author) as Author,
    type,
    ...(JSON.parse(detail) as object),
    ...(type.endsWith(".voted") && { votes: [] }),
    ...(type === "chat.marked" && { marks: [] }),
    ...(data !== null && { hidden: JSON.parse(data) as unknown }),
  } as Entry;
}

/** Builds the entry for a stored chat event. The author was stored by {@link storedAuthorOf}. */
export const storedChatEntry = (
  world: string,
  { tag, author, delivery }: { tag: number; author: string | null; delivery: ChatDelivery },
): Entry =>
  chatEntry(world, tag, delivery, author === null ? undefined : (JSON.parse(author) as Author));

/** Builds the entry for a chat event. @param by defaults to the event's sender. */
export const chatEntry = (
  world: string,
  tag: number,
  delivery: ChatDelivery,
  by: Author = authorOf(delivery),
): Entry => ({
  type: "chat.event",
  world,
  seq: delivery.event.id,
  tag,
  at: delivery.event.timestamp,
  by,
  channel: delivery.event.channel,
  delivery,
});

/** Returns an event's sender as an author, or the server if the event has no sender. */
const authorOf = ({ event: { sender } }: ChatDelivery): Author =>
  sender === null ? SERVER : { kind: "user", user: sender };
