/** A value of a row. Numbers are whole, and exact in a double. */
export type Value = string | number | null;

/** A column that every engine has, with the same meaning. */
interface Column {
  name: string;
  kind: "text" | "number";
  nullable: boolean;
  /** The version of backups that first has it, if its table is older. All later columns are as new. */
  since?: number;
  /** The value in the rows of older backups. */
  formerly?: Value;
}

/** A table as a backup has it, whichever engine keeps it. */
export interface Table {
  name: string;
  columns: readonly Column[];
  /** The columns of the key, which also give the order: text by code points, numbers by value. */
  key: readonly string[];
  /** The version of backups that first has it. An older backup is restored without its rows. */
  since: number;
}

/** The version of the backups that are written. The first with rows was 2. */
export const BACKUP_VERSION = 4;

/** The values of a row, in the order of the columns of its table. */
export type Row = readonly Value[];

const text = { kind: "text", nullable: false } as const;
const number = { kind: "number", nullable: false } as const;
const textOrNull = { kind: "text", nullable: true } as const;
const numberOrNull = { kind: "number", nullable: true } as const;

const table = (
  name: string,
  key: string,
  columns: Record<string, Omit<Column, "name">>,
  since = 2,
): Table => ({
  name,
  since,
  key: key.split(" "),
  columns: Object.entries(columns).map(([name, kind]) => ({ name, ...kind })),
});

/**
 * All tables of a backup. No row refers to a row of a later table.
 *
 * These differ from the tables of an engine:
 * - Every table but `worlds` and `sequences` has the world, even where the engine finds it through another table.
 * - `worlds` lacks `file_bytes`, which follows from `files`.
 * - `users` lacks `fields_folded`, which follows from `profile`: see `withDerived` in `user-fields.ts`.
 * - `files` has the order of the uploads as `number`; SQLite keeps it as the rowid.
 * - `chat_events` has no events that are gone, and none of deleted channels. The content is
 *   null where it was erased or replaced. SQLite also numbers the rows.
 * - `log` lacks `data`, which is erased soon in any case. SQLite also numbers the rows.
 * - `sequences` has the last number that was given to a row of a table. It is never given again.
 */
export const TABLES: readonly Table[] = [
  table("worlds", "id", {
    id: text,
    title: text,
    config: text,
    permission_config: text,
    domain: text,
    revision: number,
  }),
  table("world_issuers", "issuer audience world_id", {
    issuer: text,
    audience: text,
    world_id: text,
  }),
  table("view_groups", "id", {
    id: number,
    world_id: text,
    rule: text,
    rooms: number,
  }),
  table("rooms", "id", {
    id: text,
    world_id: text,
    view_group: number,
    name: text,
    description: text,
    module_config: text,
    permission_config: text,
    sorting_priority: number,
    domain: textOrNull,
    name_folded: text,
    description_folded: text,
    revision: number,
    extras: textOrNull,
  }),
  table("room_modules", "room_id type", {
    world_id: text,
    room_id: text,
    type: text,
  }),
  table("users", "id", {
    id: text,
    world_id: text,
    token_id: textOrNull,
    client_id: textOrNull,
    profile: textOrNull,
    traits: textOrNull,
    last_seen: number,
    moderation_state: text,
    client_state: textOrNull,
    pretalx_id: textOrNull,
    last_login: numberOrNull,
    display_name_folded: text,
  }),
  table("blocks", "user_id blocked_id", {
    world_id: text,
    user_id: text,
    blocked_id: text,
  }),
  table("files", "number", {
    number: number,
    key: text,
    world_id: text,
    user_id: textOrNull,
    size: number,
    sha256: text,
    created: number,
  }),
  table("announcements", "number", {
    number: number,
    id: text,
    world_id: text,
    text: text,
    show_until: numberOrNull,
    state: text,
  }),
  table("chat_channels", "number", {
    number: number,
    id: text,
    world_id: text,
    direct: textOrNull,
    last_event: number,
    last_message: number,
  }),
  table("chat_events", "world_id id", {
    id: number,
    world_id: text,
    channel: number,
    type: number,
    sender: textOrNull,
    timestamp: number,
    replaces: numberOrNull,
    deleted: number,
    content: textOrNull,
    tag: { ...number, since: 3, formerly: 0 },
    author: { ...textOrNull, since: 3, formerly: null },
  }),
  table("chat_edits", "world_id event", {
    world_id: text,
    event: number,
    edit: number,
  }),
  table("chat_reactions", "number", {
    number: number,
    world_id: text,
    event: number,
    reaction: text,
    user_id: text,
  }),
  table("chat_members", "number", {
    number: number,
    world_id: text,
    channel: number,
    user_id: text,
    hidden: number,
  }),
  table("chat_readers", "user_id channel", {
    world_id: text,
    user_id: text,
    channel: number,
    pointer: numberOrNull,
    listed: numberOrNull,
  }),
  table("chat_notifications", "user_id channel event", {
    world_id: text,
    user_id: text,
    channel: number,
    event: number,
  }),
  table("questions", "number", {
    number: number,
    id: text,
    world_id: text,
    room_id: text,
    sender: textOrNull,
    moderator: textOrNull,
    content: text,
    state: text,
    answered: number,
    is_pinned: number,
    timestamp: number,
    score: number,
  }),
  table("question_votes", "number", {
    number: number,
    world_id: text,
    question: number,
    user_id: textOrNull,
  }),
  table("polls", "number", {
    number: number,
    id: text,
    world_id: text,
    room_id: text,
    content: text,
    state: text,
    poll_type: text,
    is_pinned: number,
    timestamp: number,
    changed: number,
    results: textOrNull,
  }),
  table("poll_options", "number", {
    number: number,
    id: text,
    world_id: text,
    poll: number,
    content: text,
    position: number,
    votes: number,
  }),
  table("poll_ballots", "number", {
    number: number,
    world_id: text,
    poll: number,
    user_id: textOrNull,
    changed: number,
  }),
  table("poll_votes", "ballot option", {
    world_id: text,
    ballot: number,
    option: number,
  }),
  table(
    "log_heads",
    "world_id",
    {
      world_id: text,
      seq: number,
      tag: number,
    },
    3,
  ),
  table(
    "log",
    "world_id seq",
    {
      world_id: text,
      seq: number,
      tag: number,
      at: number,
      type: text,
      author: text,
      detail: text,
    },
    3,
  ),
  table("sequences", "name", { name: text, last: number }),
];

/** The tables that `sequences` has, in its order. */
export const SEQUENCES = ["chat_channels", "questions"] as const;

/** An additional sequence in older backups: the last id of an event of any world. */
export const FORMER_SEQUENCE = "chat_events";

/**
 * The tables and columns of the backups of a version. The logs of a backup without them begin
 * when it is restored.
 */
export const tablesOf = (version: number): Table[] =>
  TABLES.filter(({ since }) => since <= version).map((one) => ({
    ...one,
    columns: one.columns.filter(({ since = 2 }) => since <= version),
  }));
