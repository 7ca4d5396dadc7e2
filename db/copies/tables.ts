/** A value of a table in a store, whatever engine keeps it. */
export type Value = string | number | null;

/** A column that every engine has, with the same meaning. */
export interface Column {
  name: string;
  kind: "text" | "number";
  nullable: boolean;
  /** The version of backups that first has it, if its table is older. All later columns are as new. */
  since?: number;
  /** The value in the rows of older backups. */
  formerly?: Value;
  /** The table whose row it names in the same world: by `id` if it is a text, by its number otherwise. */
  of?: string;
  /** Whether it is no foreign key, as it may outlive the row, or becomes null where that is erased. */
  loose?: boolean;
}

/** A table as every engine has it. */
export interface Table {
  name: string;
  /** The columns in a backup, in its order. New ones come last. */
  columns: readonly Column[];
  /** The columns that a backup lacks: what follows from others, and what is erased soon in any case. */
  others: readonly Column[];
  /** The columns of the key, which also give the order: text by code points, numbers by value. */
  key: readonly string[];
  /** The version of backups that first has it. An older backup is restored without its rows. */
  since: number;
  /** The columns of other rules of uniqueness. */
  unique: readonly (readonly string[])[];
}

/** The version of the backups that are written. The first with rows was 2. */
export const BACKUP_VERSION = 4;

/** The values of a row, in the order of the columns of its table. */
export type Row = readonly Value[];

type Kind = Omit<Column, "name">;

const text = { kind: "text", nullable: false } as const;
const number = { kind: "number", nullable: false } as const;
const textOrNull = { kind: "text", nullable: true } as const;
const numberOrNull = { kind: "number", nullable: true } as const;

/** Names a row of a table. */
const idOf = (of: string): Kind => ({ ...text, of });
const numberOf = (of: string): Kind => ({ ...number, of });
/** The same without a foreign key. */
const looseIdOf = (of: string): Kind => ({ ...textOrNull, of, loose: true });
const looseNumberOf = (of: string): Kind => ({ ...number, of, loose: true });
/** The number of an event of chat in the log of its world. */
const event: Kind = looseNumberOf("log");
const eventOrNull: Kind = { ...numberOrNull, of: "log", loose: true };

/** The world of a table that refers to it through another one, or outlives it. */
const anyWorld: Kind = { ...text, of: "worlds", loose: true };

const named = (columns: Record<string, Kind>): Column[] =>
  Object.entries(columns).map(([name, kind]) => ({
    name,
    ...(name === "world_id" && { of: "worlds" }),
    ...kind,
  }));

/**
 * @param columns `world_id` is a foreign key, unless it says otherwise.
 * @param keys the key; then what else is unique, after semicolons.
 */
const table = (
  name: string,
  keys: string,
  columns: Record<string, Kind>,
  since = 2,
  others: Record<string, Kind> = {},
): Table => {
  const [key, ...unique] = keys.split("; ").map((names) => names.split(" "));
  return {
    ...{ name, since, key: key!, unique },
    ...{ columns: named(columns), others: named(others) },
  };
};

/**
 * The tables of a backup: all that a store keeps for good. No row refers to a row of a later
 * table. Both engines have the same tables (`test/db/tables.test.ts` compares them), except:
 *
 * - A `number` counts the rows of a table in the order of their creation, over all worlds. In
 *   SQLite, it is the rowid.
 * - SQLite erases the events of chat in their places. It has `gone` for events that are over, which
 *   no copy has, and blobs of zeros in place of a null for an erased `content` or `data`.
 * - `sequences` is no table. It has the last number that was given to a row of a table, and is
 *   never given again.
 */
export const TABLES: readonly Table[] = [
  table(
    "worlds",
    "id; domain",
    {
      id: text,
      title: text,
      config: text,
      permission_config: text,
      domain: text,
      revision: number,
    },
    2,
    { file_bytes: number },
  ),
  table("world_issuers", "world_id issuer audience", {
    issuer: text,
    audience: text,
    world_id: text,
  }),
  table("view_groups", "world_id id; world_id rule", {
    id: number,
    world_id: text,
    rule: text,
    rooms: number,
  }),
  table("rooms", "world_id id; id", {
    id: text,
    world_id: text,
    view_group: numberOf("view_groups"),
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
  table("room_modules", "world_id room_id type", {
    world_id: anyWorld,
    room_id: idOf("rooms"),
    type: text,
  }),
  table(
    "users",
    "world_id id; id; world_id token_id; world_id client_id",
    {
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
    },
    2,
    // It follows from the profile: see `withDerived` in `user-fields.ts`.
    { fields_folded: text },
  ),
  table("blocks", "world_id user_id blocked_id", {
    world_id: anyWorld,
    user_id: idOf("users"),
    blocked_id: idOf("users"),
  }),
  table("files", "world_id key; key", {
    number: number,
    key: text,
    world_id: text,
    user_id: looseIdOf("users"),
    size: number,
    sha256: text,
    created: number,
  }),
  table("announcements", "world_id number; id", {
    number: number,
    id: text,
    world_id: text,
    text: text,
    show_until: numberOrNull,
    state: text,
  }),
  table("chat_channels", "world_id number; id; world_id direct", {
    number: number,
    id: text,
    world_id: text,
    direct: textOrNull,
    last_event: event,
    last_message: event,
  }),
  table("chat_events", "world_id id", {
    id: event,
    world_id: anyWorld,
    channel: looseNumberOf("chat_channels"),
    type: number,
    sender: looseIdOf("users"),
    timestamp: number,
    replaces: eventOrNull,
    deleted: number,
    content: textOrNull,
    tag: { ...number, since: 3, formerly: 0 },
    author: { ...textOrNull, since: 3, formerly: null },
  }),
  table("chat_edits", "world_id event", {
    world_id: anyWorld,
    event: event,
    edit: event,
  }),
  table("chat_reactions", "world_id event reaction user_id", {
    number: number,
    world_id: anyWorld,
    event: event,
    reaction: text,
    user_id: { ...idOf("users"), loose: true },
  }),
  table("chat_members", "world_id channel user_id", {
    number: number,
    world_id: anyWorld,
    channel: numberOf("chat_channels"),
    user_id: idOf("users"),
    hidden: number,
  }),
  table("chat_readers", "world_id user_id channel", {
    world_id: anyWorld,
    user_id: idOf("users"),
    channel: numberOf("chat_channels"),
    pointer: eventOrNull,
    listed: eventOrNull,
  }),
  table("chat_notifications", "world_id user_id channel event", {
    world_id: anyWorld,
    user_id: idOf("users"),
    channel: numberOf("chat_channels"),
    event: event,
  }),
  table("questions", "world_id number; id; world_id room_id", {
    number: number,
    id: text,
    world_id: anyWorld,
    room_id: idOf("rooms"),
    sender: looseIdOf("users"),
    moderator: looseIdOf("users"),
    content: text,
    state: text,
    answered: number,
    is_pinned: number,
    timestamp: number,
    score: number,
  }),
  table("question_votes", "world_id number; world_id user_id question", {
    number: number,
    world_id: anyWorld,
    question: numberOf("questions"),
    user_id: looseIdOf("users"),
  }),
  table("polls", "world_id number; id; world_id room_id", {
    number: number,
    id: text,
    world_id: anyWorld,
    room_id: idOf("rooms"),
    content: text,
    state: text,
    poll_type: text,
    is_pinned: number,
    timestamp: number,
    changed: number,
    results: textOrNull,
  }),
  table("poll_options", "world_id number; id", {
    number: number,
    id: text,
    world_id: anyWorld,
    poll: numberOf("polls"),
    content: text,
    position: number,
    votes: number,
  }),
  table("poll_ballots", "world_id number; world_id user_id poll", {
    number: number,
    world_id: anyWorld,
    poll: numberOf("polls"),
    user_id: looseIdOf("users"),
    changed: number,
  }),
  table("poll_votes", "world_id ballot option", {
    world_id: anyWorld,
    ballot: numberOf("poll_ballots"),
    option: numberOf("poll_options"),
  }),
  table(
    "programs",
    "world_id",
    { world_id: text, stamp: text, settings: text },
    4,
  ),
  table(
    "program_places",
    "world_id place",
    { world_id: text, place: text, shown: text, changed: text },
    4,
  ),
  table(
    "program_sessions",
    "world_id id; world_id import_id",
    {
      world_id: text,
      id: text,
      revision: number,
      import_id: textOrNull,
      room_id: textOrNull,
      starts_at: numberOrNull,
      ends_at: numberOrNull,
      state: text,
      title: text,
      detail: text,
    },
    4,
  ),
  table(
    "program_speakers",
    "world_id id; world_id import_id",
    {
      world_id: text,
      id: text,
      revision: number,
      import_id: textOrNull,
      user_id: textOrNull,
      picture: textOrNull,
      name: text,
      detail: text,
    },
    4,
  ),
  table(
    "program_favorites",
    "world_id user_id session_id",
    { number: number, world_id: text, user_id: text, session_id: text },
    4,
  ),
  table(
    "program_links",
    "world_id user_id; world_id token",
    { world_id: text, user_id: text, token: text },
    4,
  ),
  table(
    "attendance_counts",
    "world_id room_id at",
    { world_id: text, room_id: idOf("rooms"), at: number, people: number },
    4,
  ),
  table(
    "attendance_visits",
    "world_id room_id user_id session_id",
    {
      ...{ world_id: text, room_id: idOf("rooms"), user_id: text },
      ...{ session_id: text, first: number, last: number, duration: number },
    },
    4,
  ),
  table(
    "webhooks",
    "world_id number; id",
    {
      ...{ number, id: text, world_id: idOf("worlds"), url: text, types: text },
      ...{ enabled: number, description: text, created_at: number },
      ...{ secret: text, revision: number, position: number },
      ...{ delivered_at: numberOrNull, failing_since: numberOrNull },
      ...{ last_status: numberOrNull, last_error: textOrNull },
      ...{ next_try_at: numberOrNull, attempts: number },
      ...{ holder: textOrNull, beat: number },
    },
    4,
  ),
  table(
    "audit",
    "world_id number",
    {
      ...{ number, world_id: idOf("worlds"), at: number, kind: text },
      ...{ user_id: textOrNull, token: textOrNull, type: text },
      ...{ subject: text, changes: text, request_id: textOrNull },
    },
    4,
  ),
  table(
    "api_callers",
    "world_id token",
    { world_id: idOf("worlds"), token: text, token_id: text, at: number },
    4,
  ),
  table(
    "room_invites",
    "world_id room_id; world_id token",
    {
      ...{ world_id: idOf("worlds"), room_id: idOf("rooms") },
      ...{ token: text, ends: number },
    },
    4,
  ),
  table(
    "push_keys",
    "name",
    { name: text, public_key: text, private_key: text },
    4,
  ),
  table(
    "push_subscriptions",
    "world_id endpoint",
    {
      ...{ world_id: idOf("worlds"), endpoint: text, user_id: text },
      ...{ p256dh: text, auth: text, created: number },
    },
    4,
  ),
  table(
    "push_claims",
    "world_id name",
    { world_id: idOf("worlds"), name: text, at: number },
    4,
  ),
  table(
    "log_heads",
    "world_id",
    {
      world_id: anyWorld,
      seq: number,
      tag: number,
      pruned: { ...number, formerly: 0, since: 4 },
    },
    3,
  ),
  table(
    "log",
    "world_id seq",
    {
      world_id: anyWorld,
      seq: number,
      tag: number,
      at: number,
      type: text,
      author: text,
      detail: text,
    },
    3,
    { data: textOrNull },
  ),
  table("sequences", "name", { name: text, last: number }),
];

/** A table that no backup has: the deleted channels whose events are still to be erased. */
export const REMAINS = table("chat_remains", "world_id channel", {
  world_id: anyWorld,
  channel: looseNumberOf("chat_channels"),
});

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
