import { foldText, UNSPACED } from "../../../schemas/plain/folding.js";
import type { ChatEvent, MessageSearch } from "../../contract/chat-store.js";
import { type EventRow, MESSAGE, toEvents } from "../../rules/chat-rows.js";
import type { DomainLog, Sql } from "../domain.js";
import { bounding, COLUMNS, LAST, NO_MEMBERS, perEngine, readReactions } from "./event-reads.js";

// Searches messages. Sending a message does not update the index. Instead, a search scans the
// messages that have not been indexed yet. If there are too many unindexed messages, the oldest of
// them are indexed before the search. The first search in a channel therefore builds the channel's
// index, even after an import or a restore.
//
// The index is `chat_words`: full-text search in SQLite, and a word column with an inverted index
// in PostgreSQL. `chat_channels.searched` is the id of the last indexed event. A write that erases
// a message also removes its words, in the same transaction.

/** Maximum number of unindexed messages that a search scans. */
const MAX_UNINDEXED = 50;

/** Maximum number of events that one write indexes, and the maximum size of their content, in characters. */
const SLICE = 250;
const SLICE_SIZE = 512 * 1024;

const FIND = "SELECT number, searched FROM chat_channels WHERE world_id = $1 AND id = $2";
const SET_SEARCHED = "UPDATE chat_channels SET searched = $3 WHERE world_id = $1 AND number = $2";

const IS_MESSAGE = "e.type = 0 AND e.replaces IS NULL AND e.deleted = 0";

/** Differences in how the engines store words: as a string or as a list. */
const DIALECTS = {
  sqlite: {
    hits: `FROM chat_words AS w CROSS JOIN chat_events AS e ON e.number = w.rowid`,
    matches: "w.chat_words MATCH $5",
    // Reads in index order, so that the query can stop at the limit. A channel's events are indexed
    // in order.
    before: `w.rowid < (SELECT coalesce(max(older.number), 0) + 1 FROM chat_events AS older
      WHERE older.world_id = $1 AND older.channel = $2 AND older.gone = 0 AND older.id < $3)`,
    newest: "w.rowid DESC",
    add: `INSERT INTO chat_words (rowid, words) SELECT e.number, $3 FROM chat_events AS e
      WHERE e.world_id = $1 AND e.id = $2`,
    change: `UPDATE chat_words SET words = $3 WHERE rowid = (
      SELECT e.number FROM chat_events AS e WHERE e.world_id = $1 AND e.id = $2)`,
    remove: `DELETE FROM chat_words WHERE rowid IN (
      SELECT e.number FROM chat_events AS e WHERE e.world_id = $1 AND e.id = ANY ($2))`,
    query: (words: readonly string[]) => words.map((word) => `"${word}" *`).join(" AND "),
  },
  postgres: {
    hits: `FROM chat_words AS w JOIN chat_events AS e
      ON e.world_id = $1 AND e.channel = $2 AND e.id = w.event`,
    matches: "w.world_id = $1 AND w.words @@ $5::tsquery",
    before: "w.event < $3",
    newest: "w.event DESC",
    add: `INSERT INTO chat_words (world_id, event, words)
      SELECT $1, row.event, array_to_tsvector(string_to_array(row.words, ' '))
      FROM unnest($2::bigint[], $3::text[]) AS row (event, words)`,
    change: `UPDATE chat_words SET words = array_to_tsvector(string_to_array($3, ' '))
      WHERE world_id = $1 AND event = $2`,
    remove: "DELETE FROM chat_words WHERE world_id = $1 AND event = ANY ($2)",
    query: (words: readonly string[]) => words.map((word) => `'${word}':*`).join(" & "),
  },
} as const;

const texts = perEngine((dialect) => {
  const { isPresent, engine } = dialect;
  const { hits, matches, before, newest, ...rest } = DIALECTS[engine];
  const ofChannel = `e.world_id = $1 AND e.channel = $2 AND ${isPresent} AND ${NO_MEMBERS}`;
  return {
    ...rest,
    unindexed: `SELECT ${COLUMNS} FROM chat_events AS e ${LAST}
      WHERE ${ofChannel} AND e.id < $3 AND e.id > $4 AND ${IS_MESSAGE}
      ORDER BY e.id DESC LIMIT ${MAX_UNINDEXED + 1}`,
    next: `SELECT ${COLUMNS} FROM chat_events AS e ${LAST}
      WHERE ${ofChannel} AND e.id > $3 ORDER BY e.id LIMIT ${SLICE}`,
    indexed: `SELECT ${COLUMNS} ${hits} ${LAST}
      WHERE ${matches} AND ${before} AND e.deleted = 0 AND ${isPresent}
      ORDER BY ${newest} LIMIT $4`,
  };
});

interface SearchedChannel {
  number: number;
  searched: number;
}

const wordsIn = (channel: number, content: EventRow["content"]): string =>
  wordsOfContent(content)
    .map((word) => indexedWord(channel, word))
    .join(" ");

/**
 * Searches a channel. `rows` is undefined if the channel has too many unindexed messages, some of
 * which must be indexed before the search.
 */
export async function searchMessages(
  sql: Sql,
  world: string,
  { channel: id, query, before = Infinity, limit }: MessageSearch & { channel: string },
): Promise<{ rows: ChatEvent[] | undefined }> {
  const wanted = searchWordsOf(query);
  const channel = await sql.one<SearchedChannel>(FIND, [world, id]);
  if (!channel || wanted.length === 0) return { rows: [] };
  const { unindexed, indexed, query: match } = texts(sql);
  const { number, searched } = channel;
  const end = Math.ceil(bounding(before));
  const latest = await sql.all<EventRow>(unindexed, [world, number, end, searched]);
  if (latest.length > MAX_UNINDEXED) return { rows: undefined };
  const found = latest.filter(({ content }) => hasWords(wordsOfContent(content), wanted));
  if (found.length < limit) {
    const words = match(wanted.map((word) => indexedWord(number, word)));
    const known = new Set(latest.map((row) => row.id));
    // With PostgreSQL, another write may have indexed some of the latest messages since they were
    // read above.
    const older = await sql.all<EventRow>(indexed, [world, number, end, limit, words]);
    found.push(...older.filter((row) => !known.has(row.id)));
  }
  const rows = found.slice(0, limit);
  return { rows: toEvents(id, rows, await readReactions(sql, world, rows)) };
}

export async function indexMessages(sql: Sql, world: string, id: string): Promise<void> {
  const channel = await sql.one<SearchedChannel>(FIND, [world, id]);
  if (!channel) return;
  const { number, searched } = channel;
  const { next, add } = texts(sql);
  const events: number[] = [];
  const words: string[] = [];
  let size = 0;
  let last = searched;
  for (const row of await sql.all<EventRow>(next, [world, number, searched])) {
    size += row.content?.length ?? 0;
    if (last > searched && size > SLICE_SIZE) break;
    last = row.id;
    if (row.type !== MESSAGE || row.replaces !== null || row.deleted) continue;
    events.push(row.id);
    words.push(wordsIn(number, row.content));
  }
  if (last === searched) return;
  if (sql.engine === "postgres") await sql.run(add, [world, events, words]);
  else for (const [i, event] of events.entries()) await sql.run(add, [world, event, words[i]]);
  await sql.run(SET_SEARCHED, [world, number, last]);
}

export async function reindexMessage(
  sql: Sql,
  log: Pick<DomainLog, "erased">,
  world: string,
  channel: number,
  event: number,
  content: string,
): Promise<void> {
  const params = [world, event, wordsIn(channel, content)];
  if ((await sql.run(texts(sql).change, params)) > 0) log.erased("chat_words");
}

export async function unindexMessages(
  sql: Sql,
  log: Pick<DomainLog, "erased">,
  world: string,
  events: readonly number[],
): Promise<void> {
  if ((await sql.run(texts(sql).remove, [world, events])) > 0) log.erased("chat_words");
}

// Split and fold words here rather than in the engines, so that both engines index the same words
// and find the same messages. The word index is ordered, and each word is prefixed with the channel
// number. A prefix search within a channel is therefore a single range, no matter how many messages
// the other channels contain.

/** Matches a word. A word of more than 40 characters is split, because an index limits the length of words. */
const WORD = new RegExp(`[${UNSPACED}]|(?:(?![${UNSPACED}])[\\p{L}\\p{N}]){1,40}`, "gu");

/** Returns the distinct words in a string, ignoring case, width and accents. */
function searchWordsOf(text: string): string[] {
  return [...new Set(foldText(text).match(WORD) ?? [])];
}

/** Returns the words in a message's text and in the names of its files. */
function wordsOfContent(content: string | Uint8Array | null): string[] {
  if (typeof content !== "string") return [];
  const { body, files } = JSON.parse(content) as { body?: unknown; files?: unknown };
  const names = Array.isArray(files)
    ? (files as unknown[]).map((file) => (file as { name?: unknown } | null)?.name)
    : [];
  return searchWordsOf([body, ...names].filter((part) => typeof part === "string").join("\n"));
}

/** Whether each wanted word is a prefix of one of the words. */
const hasWords = (words: readonly string[], wanted: readonly string[]): boolean =>
  wanted.every((start) => words.some((word) => word.startsWith(start)));

/** Returns the indexed form of a word in a channel. Words never contain the dot. */
const indexedWord = (channel: number, word: string): string => `${channel}·${word}`;
