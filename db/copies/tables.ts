import {
  anyWorld,
  type Column,
  idOf,
  looseNumberOf,
  number,
  table,
  type Table,
  text,
  textOrNull,
} from "./tables/kinds.js";
import { WORLD_TABLES } from "./tables/worlds.js";
import { CHAT_TABLES } from "./tables/chat.js";
import { VOTE_TABLES } from "./tables/votes.js";
import { PROGRAM_TABLES } from "./tables/program.js";
import { INTEGRATION_TABLES } from "./tables/integration.js";

export type { Column, Copies, Row, Table, Value } from "./tables/kinds.js";

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

/** A table that no backup has: the deleted channels whose events are still to be erased. */
export const REMAINS = table("chat_remains", "world_id channel", "none", {
  world_id: anyWorld,
  channel: looseNumberOf("chat_channels"),
});

/** Another one: what was erased and may still have bytes in the files of the database. */
export const ERASURES = table("erasures", "number", "none", {
  number,
  subject: text,
  at: number,
});

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
