import {
  anyWorld,
  type Column,
  event,
  eventOrNull,
  flag,
  idOf,
  list,
  looseId,
  looseIdOf,
  looseNumberOf,
  mark,
  markOrNull,
  number,
  numberOf,
  numberOrNull,
  object,
  objectOrNull,
  oneOf,
  table,
  type Table,
  text,
  textOrNull,
  time,
  timeOrNull,
} from "./columns.js";

const WORLD_TABLES: readonly Table[] = [
  table("world_ids", "id", "none", { id: text, touched: timeOrNull }),
  table(
    "worlds",
    "id; domain",
    "all",
    {
      id: idOf("world_ids"),
      title: text,
      config: object,
      permission_config: object,
      domain: text,
      revision: number,
    },
    { file_bytes: number },
  ),
  table("world_issuers", "world_id issuer audience", "none", {
    issuer: text,
    audience: text,
    world_id: text,
  }),
  table("view_groups", "world_id id; world_id rule", "none", {
    id: number,
    world_id: text,
    rule: text,
    rooms: number,
  }),
  table("rooms", "world_id id; id", "all", {
    id: text,
    world_id: text,
    view_group: { ...numberOf("view_groups"), derived: 0 },
    name: text,
    description: text,
    module_config: list,
    permission_config: object,
    sorting_priority: number,
    domain: textOrNull,
    name_folded: { ...text, derived: "" },
    description_folded: { ...text, derived: "" },
    revision: { ...number, inClone: 1 },
    extras: objectOrNull,
  }),
  table("room_modules", "world_id room_id type", "none", {
    world_id: anyWorld,
    room_id: idOf("rooms"),
    type: text,
  }),
  table(
    "users",
    "world_id id; id; world_id token_id; world_id client_id",
    "all",
    {
      id: text,
      world_id: text,
      token_id: textOrNull,
      client_id: textOrNull,
      profile: objectOrNull,
      traits: { ...textOrNull, json: "list" },
      last_seen: time,
      moderation_state: oneOf("", "silenced", "banned"),
      client_state: objectOrNull,
      pretalx_id: textOrNull,
      last_login: timeOrNull,
      display_name_folded: { ...text, derived: "" },
      created: time,
    },
    // It follows from the profile: see `loaded` in `copies/dump.ts`.
    { fields_folded: text },
  ),
  table("blocks", "world_id user_id blocked_id", "all", {
    world_id: anyWorld,
    user_id: idOf("users"),
    blocked_id: idOf("users"),
  }),
  table("files", "world_id key; key", "files", {
    number: number,
    key: text,
    world_id: text,
    user_id: looseIdOf("users"),
    size: number,
    sha256: text,
    created: time,
  }),
  table("announcements", "world_id number; id", "all", {
    number: number,
    id: text,
    world_id: text,
    text: text,
    show_until: timeOrNull,
    state: oneOf("draft", "active", "archived"),
  }),
];

const PROGRAM_TABLES: readonly Table[] = [
  table("programs", "world_id", "all", { world_id: text, stamp: text, settings: text }),
  table("program_places", "world_id place", "all", {
    world_id: text,
    place: { ...text, hasIds: true },
    shown: text,
    changed: text,
  }),
  table("program_sessions", "world_id id; world_id import_id", "all", {
    world_id: text,
    id: text,
    revision: { ...number, inClone: 1 },
    import_id: textOrNull,
    room_id: looseIdOf("rooms"),
    starts_at: timeOrNull,
    ends_at: timeOrNull,
    state: oneOf("public", "draft"),
    title: text,
    detail: { ...object, hasIds: true },
  }),
  table("program_speakers", "world_id id; world_id import_id", "all", {
    world_id: text,
    id: text,
    revision: { ...number, inClone: 1 },
    import_id: textOrNull,
    user_id: { ...looseIdOf("users"), inClone: null },
    picture: { ...textOrNull, inClone: null },
    name: text,
    detail: object,
  }),
  table("program_favorites", "world_id user_id session_id", "export", {
    number,
    world_id: text,
    user_id: looseId("users"),
    session_id: looseId("program_sessions"),
  }),
  table("program_links", "world_id user_id; world_id token", "export", {
    world_id: text,
    user_id: looseId("users"),
    token: text,
  }),
];

/** What integrators and organizers see of a world. */
const INTEGRATION_TABLES: readonly Table[] = [
  table("attendance_counts", "world_id room_id at", "none", {
    world_id: text,
    room_id: idOf("rooms"),
    at: number,
    people: number,
  }),
  table("attendance_visits", "world_id room_id user_id session_id", "none", {
    world_id: text,
    room_id: idOf("rooms"),
    user_id: text,
    session_id: text,
    first: number,
    last: number,
    duration: number,
  }),
  table("webhooks", "world_id number; id", "none", {
    number,
    id: text,
    world_id: idOf("worlds"),
    url: text,
    types: text,
    enabled: number,
    description: text,
    created_at: number,
    secret: text,
    revision: number,
    position: number,
    delivered_at: numberOrNull,
    failing_since: numberOrNull,
    last_status: numberOrNull,
    last_error: textOrNull,
    next_try_at: numberOrNull,
    attempts: number,
    holder: textOrNull,
    beat: number,
  }),
  table("api_callers", "world_id token", "none", {
    world_id: idOf("worlds"),
    token: text,
    token_id: text,
    at: number,
  }),
  table("room_invites", "world_id room_id; world_id token", "none", {
    world_id: idOf("worlds"),
    room_id: idOf("rooms"),
    token: text,
    ends: number,
  }),
  table("push_keys", "name", "none", { name: text, public_key: text, private_key: text }),
  table("push_subscriptions", "world_id endpoint", "none", {
    world_id: idOf("worlds"),
    endpoint: text,
    user_id: text,
    p256dh: text,
    auth: text,
    created: number,
  }),
  table("push_claims", "world_id name", "none", {
    world_id: idOf("worlds"),
    name: text,
    at: number,
  }),
];

export const CHAT_TABLES: readonly Table[] = [
  table(
    "chat_channels",
    "world_id number; id; world_id direct",
    "history",
    {
      number: number,
      id: text,
      world_id: text,
      direct: textOrNull,
      last_event: mark,
      last_message: mark,
    },
    { searched: number },
  ),
  table("chat_events", "world_id id", "history", {
    id: event,
    world_id: anyWorld,
    channel: looseNumberOf("chat_channels"),
    type: { ...number, values: [0, 1, 2] },
    sender: looseIdOf("users"),
    timestamp: time,
    replaces: eventOrNull,
    deleted: flag,
    content: objectOrNull,
    tag: number,
    author: textOrNull,
  }),
  table("chat_edits", "world_id event", "history", {
    world_id: anyWorld,
    event: event,
    edit: event,
  }),
  table("chat_reactions", "world_id event reaction user_id", "history", {
    number: number,
    world_id: anyWorld,
    event: event,
    reaction: text,
    user_id: looseId("users"),
  }),
  table("chat_members", "world_id channel user_id", "history", {
    number: number,
    world_id: anyWorld,
    channel: numberOf("chat_channels"),
    user_id: idOf("users"),
    hidden: flag,
  }),
  table("chat_readers", "world_id user_id channel", "history", {
    world_id: anyWorld,
    user_id: idOf("users"),
    channel: numberOf("chat_channels"),
    pointer: markOrNull,
    listed: markOrNull,
  }),
  table("chat_notifications", "world_id user_id channel event", "history", {
    world_id: anyWorld,
    user_id: idOf("users"),
    channel: numberOf("chat_channels"),
    event: event,
  }),
];

const VOTE_TABLES: readonly Table[] = [
  table("questions", "world_id number; id; world_id room_id", "all", {
    number: number,
    id: text,
    world_id: anyWorld,
    room_id: idOf("rooms"),
    sender: { ...looseIdOf("users"), inClone: null },
    moderator: { ...looseIdOf("users"), inClone: null },
    content: text,
    state: oneOf("mod_queue", "visible", "archived"),
    answered: flag,
    is_pinned: flag,
    timestamp: time,
    score: { ...number, derived: 0 },
    named: { ...flag, inClone: 0 },
  }),
  table("question_votes", "world_id number; world_id user_id question", "export", {
    number: number,
    world_id: anyWorld,
    question: numberOf("questions"),
    user_id: looseIdOf("users"),
  }),
  table("polls", "world_id number; id; world_id room_id", "all", {
    number: number,
    id: text,
    world_id: anyWorld,
    room_id: idOf("rooms"),
    content: text,
    state: oneOf("draft", "open", "closed", "archived"),
    poll_type: oneOf("choice", "multi"),
    is_pinned: flag,
    timestamp: time,
    changed: { ...number, inClone: 0 },
    results: { ...objectOrNull, hasIds: true },
  }),
  table("poll_options", "world_id number; id", "all", {
    number: number,
    id: text,
    world_id: anyWorld,
    poll: numberOf("polls"),
    content: text,
    position: number,
    votes: { ...number, derived: 0 },
  }),
  table("poll_ballots", "world_id number; world_id user_id poll", "export", {
    number: number,
    world_id: anyWorld,
    poll: numberOf("polls"),
    user_id: looseIdOf("users"),
    changed: number,
  }),
  table("poll_votes", "world_id ballot option", "export", {
    world_id: anyWorld,
    ballot: numberOf("poll_ballots"),
    option: numberOf("poll_options"),
  }),
];

export type { Column, Copies, Row, Table, Value } from "./columns.js";

/** The version of the backups and of the documents of worlds that are written. */
export const BACKUP_VERSION = 5;

/** The oldest version that is read: the one of release 0.1.0. */
export const OLDEST_BACKUP = 5;

/**
 * The tables of a backup: all that a store keeps for good. No row refers to a row of a later
 * table. Both engines have the same tables (`test/contract/db/sqlite.test.ts` compares them), except:
 *
 * - A `number` counts the rows of a table in the order of their creation, over all worlds. In
 *   SQLite, it is the rowid.
 * - Each engine has an index of words, `chat_words`, which no copy has.
 * - SQLite erases the events of chat in their places. It has a `number` of each for the index, and
 *   `gone` for events that are over, which no copy has, and blobs of zeros in place of a null for an erased `content` or `data`.
 * - `sequences` is no table. It has the last number that was given to a row of a table, and is
 *   never given again.
 */
export const TABLES: readonly Table[] = [
  ...WORLD_TABLES,
  ...CHAT_TABLES,
  ...VOTE_TABLES,
  ...PROGRAM_TABLES,
  ...INTEGRATION_TABLES,
  table("log_heads", "world_id", "none", {
    world_id: anyWorld,
    seq: number,
    tag: number,
    pruned: number,
  }),
  table(
    "log",
    "world_id seq",
    "none",
    {
      world_id: anyWorld,
      seq: number,
      tag: number,
      at: number,
      type: text,
      author: text,
      detail: text,
      audit: textOrNull,
      changes: textOrNull,
      request: textOrNull,
    },
    { data: textOrNull },
  ),
  table("log_kept", "world_id seq", "none", {
    world_id: idOf("worlds"),
    seq: number,
    at: number,
    type: text,
    author: text,
    detail: text,
    audit: text,
    changes: text,
    request: textOrNull,
  }),
  table("sequences", "name", "none", { name: text, last: number }),
];

/** The tables that `sequences` has, in its order. */
export const SEQUENCES = ["chat_channels", "questions"] as const;

/** The table with the columns that copies of a world have. */
export const copied = (table: Table): Table => ({
  ...table,
  columns: table.columns.filter(({ derived }) => derived === undefined),
});

/**
 * The column whose numbers count the rows of a table. Copies of a world have its rows in this
 * order, if there is one, and count from 1.
 */
export const counterOf = ({ name, columns }: Table): string | undefined =>
  name === "chat_events" ? "id" : columns.find((column) => column.name === "number")?.name;

/** The table whose counter a number refers to: of the log, only the events of chat. */
export const countedBy = ({ kind, of }: Column): string | undefined =>
  kind === "number" ? (of === "log" ? "chat_events" : of) : undefined;

/** The tables and columns of the backups of a version. */
export const tablesOf = (version: number): Table[] =>
  TABLES.filter(({ since = OLDEST_BACKUP }) => since <= version).map((one) => ({
    ...one,
    columns: one.columns.filter(({ since = OLDEST_BACKUP }) => since <= version),
  }));
