import { randomUUID } from "node:crypto";
import { hasOptions, type PollSettings } from "../../schemas/plain/polls.js";
import type { PollRow } from "../rules/poll-rows.js";
import { type Cast, countedAs, hasVote } from "../rules/poll-votes.js";
import { absent } from "../rules/preconditions.js";
import type { DomainLog, Sql } from "./domain.js";

// Writes to the ballots of polls: their options, values, words and texts.

const FIND =
  "SELECT number, value FROM poll_ballots WHERE world_id = $1 AND user_id = $3 AND poll = $2";

const OPTIONS = `SELECT v.option FROM poll_votes AS v CROSS JOIN poll_options AS o
  WHERE v.world_id = $1 AND v.ballot = $2 AND o.world_id = $1 AND o.number = v.option
  ORDER BY v.place, o.position, o.number`;

const ANSWERS = `SELECT content, folded FROM poll_answers
  WHERE world_id = $1 AND ballot = $2 ORDER BY number`;

const NEXT_CHANGE = `UPDATE polls SET changed = changed + 1
  WHERE world_id = $1 AND number = $2 RETURNING changed`;

// A ballot that was anonymous stays so, because parts of it may be older than the last vote.
const SAVE = `INSERT INTO poll_ballots (world_id, poll, user_id, changed, value, cast_at, anonymous)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (world_id, user_id, poll) DO UPDATE
  SET changed = excluded.changed, value = excluded.value, cast_at = excluded.cast_at,
    anonymous = CASE WHEN excluded.anonymous = 1 THEN 1 ELSE poll_ballots.anonymous END
  RETURNING number`;

const CHOOSE = `INSERT INTO poll_votes (world_id, ballot, option, place) VALUES ($1, $2, $3, $4)
  ON CONFLICT (world_id, ballot, option) DO UPDATE SET place = excluded.place`;

const REJECT = "DELETE FROM poll_votes WHERE world_id = $1 AND ballot = $2 AND option = $3";

const COUNT = "UPDATE poll_options SET votes = votes + $3 WHERE world_id = $1 AND number = $2";

const UNWRITE = "DELETE FROM poll_answers WHERE world_id = $1 AND ballot = $2 AND content = $3";

const SET_SHOWN = `UPDATE poll_answers SET shown = $4
  WHERE world_id = $1 AND poll = $2 AND id = $3 AND folded = '' AND content <> ''`;

const HAS_WORD =
  "SELECT 1 FROM poll_answers WHERE world_id = $1 AND poll = $2 AND folded = $3 LIMIT 1";

const HIDE_WORD = `INSERT INTO poll_hidden_words (world_id, poll, folded) VALUES ($1, $2, $3)
  ON CONFLICT (world_id, poll, folded) DO NOTHING`;

const SHOW_WORD = "DELETE FROM poll_hidden_words WHERE world_id = $1 AND poll = $2 AND folded = $3";

/** A user's vote, which replaces the user's previous vote. */
interface Change {
  readonly user: string;
  readonly before: Cast;
  readonly after: Cast;
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly isAnonymous: boolean;
}

export function ballotWrites(sql: Sql, log: DomainLog) {
  /** Most votes change only one or two rows, so batching would cost more than it saves. */
  async function saveOptions(
    world: string,
    { poll_type }: PollRow,
    ballot: number,
    { before, after }: Change,
  ) {
    const isRanked = poll_type === "rank";
    for (const option of before.options) {
      if (after.options.includes(option)) continue;
      await sql.run(REJECT, [world, ballot, option]);
      await sql.run(COUNT, [world, option, -1]);
    }
    for (const [i, option] of after.options.entries()) {
      const isKnown = before.options.includes(option);
      if (isKnown && (!isRanked || before.options[i] === option)) continue;
      await sql.run(CHOOSE, [world, ballot, option, isRanked ? i : 0]);
      if (!isKnown) await sql.run(COUNT, [world, option, 1]);
    }
  }

  /** Keeps unchanged answers, so that a manager's decision about them remains in effect. */
  async function saveAnswers(
    world: string,
    poll: PollRow,
    ballot: number,
    { before, after, at }: Change,
  ) {
    const kept = new Set(after.answers.map(({ content }) => content));
    const known = new Set(before.answers.map(({ content }) => content));
    for (const content of known) {
      if (kept.has(content)) continue;
      await sql.run(UNWRITE, [world, ballot, content]);
      log.erased("poll_answers");
    }
    const { hold = false } = JSON.parse(poll.settings) as PollSettings;
    const added = after.answers.filter(({ content }) => !known.has(content));
    await sql.insert(
      "poll_answers",
      added.map(({ content, folded }) => ({
        world_id: world,
        id: randomUUID(),
        poll: poll.number,
        ballot,
        content,
        folded,
        shown: hold ? 2 : 0,
        written_at: at,
      })),
    );
  }

  return {
    /** Returns a user's ballot in a poll. */
    async of(world: string, { number, poll_type }: PollRow, user: string): Promise<Cast> {
      const params = [world, number, user];
      const found = await sql.one<{ number: number; value: number | null }>(FIND, params);
      const none: Cast = { options: [], value: null, answers: [] };
      if (!found) return none;
      const own = [world, found.number];
      if (poll_type === "scale") return { ...none, value: found.value };
      return hasOptions(poll_type)
        ? { ...none, options: await sql.column<number>(OPTIONS, own) }
        : { ...none, answers: await sql.all(ANSWERS, own) };
    },

    /** Stores a user's vote. */
    async save(world: string, poll: PollRow, change: Change): Promise<void> {
      const { user, after, at, isAnonymous } = change;
      const changed = await sql.value<number>(NEXT_CHANGE, [world, poll.number]);
      const castAt = hasVote(after) ? at : null;
      const values = [user, changed, after.value, castAt, Number(isAnonymous)];
      const params = [world, poll.number, ...values];
      const ballot = (await sql.value<number>(SAVE, params))!;
      if (hasOptions(poll.poll_type)) await saveOptions(world, poll, ballot, change);
      else if (poll.poll_type !== "scale") await saveAnswers(world, poll, ballot, change);
    },

    /**
     * Hides or shows an answer.
     * @throws {StoreError} `absent` on `poll` if the poll has no such answer.
     */
    async hide(world: string, poll: PollRow, answer: string, isHidden: boolean): Promise<void> {
      if (poll.poll_type === "text") {
        const shown = isHidden ? 1 : 0;
        const count = await sql.run(SET_SHOWN, [world, poll.number, answer, shown]);
        if (count === 0) throw absent("poll");
        return;
      }
      const params = [world, poll.number, countedAs(answer)];
      if (poll.poll_type !== "words" || !(await sql.one(HAS_WORD, params))) throw absent("poll");
      await sql.run(isHidden ? HIDE_WORD : SHOW_WORD, params);
    },
  };
}
