import type { PollSummary } from "../../schemas/plain/polls.js";
import type { EndingPoll, Player } from "../contract/poll-store.js";
import type { PollRow } from "../rules/poll-rows.js";
import type { Reading, Sql } from "./domain.js";

// Results that are not counted per option. They are computed from the ballots on each read.

/** Maximum number of words and of texts in a summary. */
const MAX_WORDS = 100;
const MAX_TEXTS = 200;

const FIND = `SELECT number, poll_type, settings FROM polls
  WHERE world_id = $1 AND room_id = $2 AND id = $3`;

const PEOPLE = `SELECT count(*) FROM poll_ballots
  WHERE world_id = $1 AND poll = $2 AND cast_at IS NOT NULL`;

/** The spellings of the most frequent words. */
const WORDS = `WITH spelled AS (
    SELECT folded, content, count(*) AS count FROM poll_answers
    WHERE world_id = $1 AND poll = $2 AND folded <> '' GROUP BY folded, content),
  counted AS (
    SELECT s.folded, CAST(sum(s.count) AS BIGINT) AS total, EXISTS (
        SELECT 1 FROM poll_hidden_words AS h
        WHERE h.world_id = $1 AND h.poll = $2 AND h.folded = s.folded) AS hidden
    FROM spelled AS s GROUP BY s.folded),
  listed AS (
    SELECT folded, total, hidden FROM counted WHERE $3 OR NOT hidden
    ORDER BY total DESC, folded LIMIT $4)
  SELECT l.folded, l.total, l.hidden, s.content FROM listed AS l
  JOIN spelled AS s ON s.folded = l.folded
  ORDER BY l.total DESC, l.folded, s.count DESC, s.content`;

/** The newest texts. Those that wait for a manager come first, so that none is out of reach. */
const TEXTS = `SELECT a.id, a.content, a.shown, a.written_at, a.number,
    CASE WHEN b.anonymous = 0 THEN b.user_id END AS user_id
  FROM poll_answers AS a JOIN poll_ballots AS b ON b.world_id = $1 AND b.number = a.ballot
  WHERE a.world_id = $1 AND a.poll = $2 AND a.content <> '' AND ($3 OR a.shown = 0)
  ORDER BY CASE WHEN a.shown = 2 THEN 0 ELSE 1 END, a.number DESC LIMIT $4`;

const VALUES = `SELECT value, count(*) AS count FROM poll_ballots
  WHERE world_id = $1 AND poll = $2 AND cast_at IS NOT NULL AND value IS NOT NULL GROUP BY value`;

const RANKS = `SELECT o.id, o.votes, CAST(coalesce(sum(v.place), 0) AS BIGINT) AS places
  FROM poll_options AS o LEFT JOIN poll_votes AS v ON v.world_id = $1 AND v.option = o.number
  WHERE o.world_id = $1 AND o.poll = $2 GROUP BY o.number, o.id, o.votes, o.position
  ORDER BY o.position, o.number`;

// Each ballot of an erased user counts as a separate player, because nothing connects these
// ballots. The node that stored an answer may have a slower clock than the node that opened the
// quiz.
const PLAYERS = `SELECT b.user_id, min(b.number) AS first, CAST(sum(o.correct) AS BIGINT) AS points,
    CAST(sum(CASE WHEN o.correct = 1 AND b.cast_at > p.opened_at
      THEN b.cast_at - p.opened_at ELSE 0 END) AS BIGINT) AS time,
    EXISTS (SELECT 1 FROM users AS u WHERE u.world_id = $1 AND u.id = b.user_id
      AND u.display_name_folded <> '') AS named
  FROM polls AS p CROSS JOIN poll_ballots AS b CROSS JOIN poll_votes AS v CROSS JOIN poll_options AS o
  WHERE p.world_id = $1 AND p.room_id = $2 AND p.poll_type = 'quiz' AND p.state = 'closed'
    AND b.world_id = $1 AND b.poll = p.number AND b.cast_at IS NOT NULL
    AND v.world_id = $1 AND v.ballot = b.number AND o.world_id = $1 AND o.number = v.option
    AND (b.user_id IS NULL OR EXISTS (SELECT 1 FROM users AS u
      WHERE u.world_id = $1 AND u.id = b.user_id AND u.moderation_state <> 'banned'))
  GROUP BY b.user_id, CASE WHEN b.user_id IS NULL THEN b.number END
  ORDER BY points DESC, time, first`;

const ENDING = `SELECT world_id AS world, room_id AS room, id, ends_at FROM polls
  WHERE ends_at < $1 ORDER BY ends_at LIMIT 1000`;

type Found = Pick<PollRow, "number" | "poll_type" | "settings">;

export const pollResults = (sql: Reading) => ({
  summary: (
    world: string,
    room: string,
    id: string,
    all: boolean,
    isWhole = false,
  ): Promise<PollSummary | undefined> =>
    sql.snapshot(async (sql) => {
      const poll = await sql.one<Found>(FIND, [world, room, id]);
      return poll && summaryOf(sql, world, poll, { all, isWhole });
    }),

  async players(world: string, room: string): Promise<Player[]> {
    const rows = await sql.all<{
      user_id: string | null;
      points: number;
      time: number;
      first: number;
      named: unknown;
    }>(PLAYERS, [world, room]);
    return rows.map(({ user_id, points, time, first, named }) => ({
      user: user_id,
      isNamed: Boolean(named),
      points,
      time,
      first,
    }));
  },

  ending: (before: number): Promise<EndingPoll[]> => sql.all<EndingPoll>(ENDING, [before]),
});

async function summaryOf(
  sql: Sql,
  world: string,
  { number, poll_type, settings }: Found,
  { all, isWhole }: { all: boolean; isWhole: boolean },
): Promise<PollSummary | undefined> {
  const most = (limit: number) => (isWhole ? Number.MAX_SAFE_INTEGER : limit);
  const params = [world, number];
  const people = () => sql.value<number>(PEOPLE, params).then((count) => count ?? 0);
  switch (poll_type) {
    case "words":
      return {
        people: await people(),
        words: wordsIn(await sql.all(WORDS, [...params, all, most(MAX_WORDS)])),
      };
    case "text":
      return {
        people: await people(),
        answers: textsIn(await sql.all(TEXTS, [...params, all, most(MAX_TEXTS)]), all),
      };
    case "scale": {
      const { min = 1, max = 5 } = JSON.parse(settings) as { min?: number; max?: number };
      const counted = await sql.all<{ value: number; count: number }>(VALUES, params);
      return { people: await people(), ...scaleOf(counted, min, max) };
    }
    case "rank": {
      const rows = await sql.all<{ id: string; votes: number; places: number }>(RANKS, params);
      const scores = rows.map(({ id, votes, places }) => [id, rows.length * votes - places]);
      return {
        people: await people(),
        scores: Object.fromEntries(scores) as Record<string, number>,
      };
    }
    default:
      return undefined;
  }
}

interface SpelledRow {
  folded: string;
  total: number;
  hidden: unknown;
  content: string;
}

/**
 * @param rows each word's most frequent spelling comes first.
 */
function wordsIn(rows: readonly SpelledRow[]) {
  const words = new Map<string, { text: string; count: number; hidden?: true }>();
  for (const { folded, total, hidden, content } of rows) {
    if (words.has(folded)) continue;
    words.set(folded, { text: content, count: total, ...(Boolean(hidden) && { hidden: true }) });
  }
  return [...words.values()];
}

interface TextRow {
  id: string;
  content: string;
  shown: number;
  written_at: number;
  number: number;
  user_id: string | null;
}

const textsIn = (rows: readonly TextRow[], all: boolean) =>
  rows
    .toSorted((a, b) => b.number - a.number)
    .map(({ id, content, shown, written_at, user_id }) => ({
      id,
      text: content,
      ...(all && user_id !== null && { user: user_id }),
      at: new Date(written_at).toISOString(),
      ...(shown === 1 && { hidden: true }),
      ...(shown === 2 && { held: true }),
    }));

function scaleOf(rows: readonly { value: number; count: number }[], min: number, max: number) {
  const counts: Record<string, number> = {};
  for (let value = min; value <= max; value++) counts[value] = 0;
  let votes = 0;
  let sum = 0;
  for (const { value, count } of rows) {
    counts[value] = count;
    votes += count;
    sum += value * count;
  }
  return { counts, average: votes === 0 ? null : Math.round((100 * sum) / votes) / 100 };
}
