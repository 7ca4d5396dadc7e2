import type { PermissionConfig } from "../../schemas/rules.js";
import type { Announcement } from "../contract/announcement-store.js";
import { type Author, SERVER } from "../contract/author.js";
import type { Delivery, Mark } from "../contract/chat-store.js";
import type { Poll } from "../contract/poll-store.js";
import type { Question } from "../contract/question-store.js";

export interface Position {
  /** The number of an entry; 0 before the first. */
  readonly seq: number;
  /** The tag of that entry. An entry that has the same number in another history has another tag. */
  readonly tag: number;
}

/** The fields that every entry of a log has. */
export interface Logged extends Position {
  readonly world: string;
}

/** A part of the log of a world, as it is at one moment. */
export interface Stretch<E extends Logged> {
  /**
   * The tag of the entry after which the stretch begins; undefined if the log has no such
   * entry. It is 0 for the beginning of the log.
   */
  readonly tag: number | undefined;
  /** In order. The numbers of entries that were erased since are missing. */
  readonly entries: readonly E[];
}

/** The history of a database that other servers can take over. */
export interface History {
  /** It changes when another server takes over. */
  readonly name: string;
  /** Whether that server will have all commits that anyone has read. */
  readonly isKept: boolean;
}

/** The reads of a {@link Follower}. Each sees all that was committed before it began. */
export interface LogReads<E extends Logged> {
  /** The last entry of each of these worlds, in their order. It takes one statement. */
  heads(worlds: readonly string[]): Promise<readonly Position[]>;
  /** The entries after a number, at most so many. */
  since(world: string, seq: number, limit: number): Promise<Stretch<E>>;
  /** Which history the database has; undefined if it cannot tell. A store in one file has one. */
  readonly history?: () => Promise<History | undefined>;
  /** A number that changes with each commit, if the store has one that costs microseconds. */
  readonly state?: () => number;
}

/** An entry as it travels to other processes when it is committed. */
export interface Hint<E extends Logged> {
  readonly entry: E;
  /** The tag of the entry before it; 0 for the first. It distinguishes histories. */
  readonly previous: number;
}

export interface Vote {
  readonly user: string;
  /** The id of the connection that sent it. */
  readonly connection?: string | undefined;
}

/** A decision about a user, as programs read it. */
export type PublicModeration = "none" | "silenced" | "banned";

/** The change of a write. Its entry has the world. */
export type Change =
  | {
      type:
        | "world.created"
        | "world.updated"
        | "world.deleted"
        /** A node found that the database had lost entries, and raised the number of the next one. */
        | "world.raised"
        /** The log begins here. Earlier events of the world have lower numbers. */
        | "log.began";
    }
  | {
      type:
        | "room.created"
        /** Created behind the other rooms, by a user of the world. */
        | "room.opened"
        | "room.updated"
        /** Only its `schedule_data` changed. */
        | "room.scheduled";
      room: string;
    }
  | {
      type: "room.deleted";
      room: string;
      /** The rules that it had. */
      rules: PermissionConfig;
    }
  | { type: "rooms.reordered" }
  | {
      type:
        /** Is new, or came back with other traits, or logged in after a time that counts as inactive. */
        "user.entered" | "user.updated" | "user.blocked" | "user.unblocked" | "user.erased";
      user: string;
    }
  | { type: "user.moderated"; user: string; state?: PublicModeration }
  | {
      type: "announcement.created" | "announcement.updated";
      announcement: string;
      /** Whether it was visible before. */
      wasVisible: boolean;
      /** If this hid the announcement: its public form, without a text that came with the change. */
      hidden?: Announcement | undefined;
    }
  /** There is a new event in a channel. Its id is the number of the entry. */
  | { type: "chat.event"; channel: string; delivery: Delivery }
  | { type: "chat.reacted"; channel: string; event: number }
  /** Some users became or ceased to be members of a channel, or it is hidden or visible for them now. */
  | { type: "chat.memberships"; channel: string; users: string[] }
  | {
      type: "chat.marked";
      /** Empty once the entry was read from the store, which has them in a table of their own. */
      marks: Mark[];
    }
  /** The content of some events was erased, or they are gone, without an event of their own. */
  | { type: "chat.erased" }
  | {
      type: "question.saved";
      room: string;
      question: string;
      /** Whether this hid it: it was visible before, and is not after. */
      hid: boolean;
      /** If so, its public form without a text that came with the change, until that is erased. */
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
      /** Empty once the entry was read from the store, which does not keep them here. */
      votes: Vote[];
    }
  /** This question is pinned now; null for none. */
  | { type: "question.pinned"; room: string; question: string | null }
  | {
      type: "poll.saved";
      room: string;
      poll: string;
      /** Whether this hid it: it was open or closed before, and is neither after. */
      hid: boolean;
      /** If so, its public form without texts that came with the change, until that is erased. */
      hidden?: Poll | undefined;
    }
  | {
      type: "poll.deleted";
      room: string;
      poll: string;
      /** Whether it was open or closed before. */
      wasPublic: boolean;
    }
  /** The ballots of users changed. `votes` as for questions. */
  | { type: "poll.voted"; room: string; poll: string; votes: Vote[] }
  /** This poll is pinned now; null for none. */
  | { type: "poll.pinned"; room: string; poll: string | null }
  | {
      type: "session.created" | "session.updated" | "session.deleted";
      session: string;
      fields?: string[];
    }
  | {
      type: "speaker.created" | "speaker.updated" | "speaker.deleted";
      speaker: string;
      fields?: string[];
    }
  /** An import changed this many sessions. An entry for each of them precedes it. */
  | {
      type: "program.imported";
      created: number;
      updated: number;
      deleted: number;
    }
  | { type: "program.favored"; user: string }
  /** The user has another address of the calendar. */
  | { type: "program.linked"; user: string }
  | { type: "file.added" | "file.deleted"; file: string }
  /** An act that changes nothing else that clients see, such as a new webhook or an export; `invite.ended` ends connections, too. */
  | {
      type: "noted";
      act: string;
      subject: Subject;
    };

/** The ids of what an act was about, by their names; a number of an event of chat; null for a user who is gone. */
export type Subject = Readonly<Record<string, string | number | null>>;

/** The fields of every entry. */
interface Stamp extends Position {
  /** The id of the world; {@link INDEX} for changes that concern all worlds. */
  readonly world: string;
  /** When it was written, in milliseconds since 1970. */
  readonly at: number;
  readonly by: Author;
  /** The names of the fields that an update changed; unknown in entries of older versions. */
  readonly fields?: readonly string[] | undefined;
  /** Whether the record that the entry names is new, where the type leaves that open. */
  readonly isNew?: boolean | undefined;
}

export type Entry = Change & Stamp;

/**
 * Stands for all worlds in the log. It has an entry whenever a world may be found by other
 * host names or issuers than before, or not any more.
 */
export const INDEX = "";

/** Gets the entries of each transaction of this process in order, before its writes resolve. */
export type OnAppended = (hints: readonly Hint<Entry>[]) => Promise<unknown> | undefined;

export interface LogStore extends LogReads<Entry> {
  /**
   * The number of the last entry that {@link prune} has removed, or with which an earlier world of
   * this id was deleted; 0 for none. A reader that has
   * read up to this one has missed nothing. Some chat events before it are still there.
   */
  floor(world: string): Promise<number>;
  /**
   * Deletes a slice of the entries of a world that are older than a time. Chat events stay.
   * For {@link INDEX}, the remaining entries of deleted worlds go, too. Hidden texts in
   * entries are erased after an hour, without regard to `before`.
   * The audit keeps those that it has, beside the log.
   * @param before in milliseconds since 1970.
   * @param audited before which time entries leave the audit, as far as the log still has them.
   * @returns whether there may be more.
   */
  prune(world: string, before: number, audited?: number): Promise<boolean>;
}

/** An entry as it is stored, unless it is a chat event. */
export interface EntryRow {
  readonly world_id: string;
  readonly seq: number;
  readonly tag: number;
  readonly at: number;
  readonly type: string;
  /** JSON of the {@link Author} without the connection. */
  readonly author: string;
  /** JSON of the other fields, without votes, marks and `hidden`. */
  readonly detail: string;
  /** JSON of `hidden`; null for none, or once it is erased. */
  readonly data: string | null;
  /** The type of the entry in the audit; null if it is not in it. */
  readonly audit: string | null;
  /** JSON of the fields with their values, as the audit has them; null if it is not in it. */
  readonly changes: string | null;
  /** The id of the request or of the connection, for the audit. */
  readonly request: string | null;
}

/** The columns of the table `log`, in the order in which the engines insert their values. */
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

/** The columns of an entry that only the audit reads. */
export type AuditColumns = Pick<EntryRow, "audit" | "changes" | "request">;

/** The columns of an entry that the log has no more, and the audit keeps. */
export const KEPT_COLUMNS = "world_id, seq, at, type, author, detail, audit, changes, request";

export const UNAUDITED: AuditColumns = { audit: null, changes: null, request: null };

export function entryRow(
  entry: Exclude<Entry, { type: "chat.event" }>,
  { audit, changes, request }: AuditColumns,
): EntryRow {
  const { world, seq, tag, at, by, type, hidden } = entry as typeof entry & {
    hidden?: unknown;
  };
  // Copied by name: in Node.js 20, the rest of an object takes microseconds.
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

/** Fields of an entry that its row has elsewhere, or, as voters and marks, not at all. */
const BESIDE_DETAIL = ["hidden", "votes", "marks"];

/** The fields of an entry that are not in its detail. */
const COLUMNS: ReadonlySet<string> = new Set([
  "world",
  "seq",
  "tag",
  "at",
  "by",
  "type",
  ...BESIDE_DETAIL,
]);

/** JSON of what an entry has beside its columns and its detail; undefined if that is nothing. */
export function besideDetail(entry: Entry): string | undefined {
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

/** JSON of an author. The same author has the same text: the audit compares them. */
export const storedAuthor = ({ kind, user, token }: Author): string =>
  user === undefined && token === undefined
    ? `{"kind":"${kind}"}`
    : JSON.stringify({ kind, user, token });

/**
 * The author of a chat event as it is stored beside its sender.
 * @returns null if the sender is the author.
 */
export const authorBeside = (sender: string | null, by: Author | undefined): string | null =>
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

/** The entry of a chat event that was stored with an author of {@link authorBeside}. */
export const storedChatEntry = (
  world: string,
  { tag, author, delivery }: { tag: number; author: string | null; delivery: Delivery },
): Entry =>
  chatEntry(world, tag, delivery, author === null ? undefined : (JSON.parse(author) as Author));

/** The entry of a chat event. @param by its sender by default. */
export const chatEntry = (
  world: string,
  tag: number,
  delivery: Delivery,
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

/** The sender of an event, as far as the event names one. */
const authorOf = ({ event: { sender } }: Delivery): Author =>
  sender === null ? SERVER : { kind: "user", user: sender };
