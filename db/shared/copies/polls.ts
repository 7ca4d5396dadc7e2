import type { PollCopy } from "../../../schemas/documents/votes-copy.js";
import {
  BY_POSITION,
  OPTION_COLUMNS,
  type OptionRow,
  POLL_COLUMNS,
  type PollRow,
} from "../../rules/poll-rows.js";
import {
  type Choice,
  copiedPollRow,
  toBallots,
  toPollCopy,
  totalsOf,
} from "../../copies/vote-copies.js";
import { taken } from "../../copies/world-copies.js";
import type { Sql } from "../sql.js";
import { insertAll, numbersIn, refuseTaken } from "./bulk.js";

const SELECT = `SELECT ${POLL_COLUMNS} FROM polls AS p WHERE p.world_id = $1 ORDER BY p.number`;

const SELECT_OPTIONS = `SELECT ${OPTION_COLUMNS} FROM poll_options AS o
  WHERE o.world_id = $1 ORDER BY o.poll, ${BY_POSITION}`;

// A ballot that was withdrawn has no votes, so it is left out.
const SELECT_CHOICES = `SELECT b.poll, b.number AS ballot, b.user_id AS user, o.id AS option
  FROM poll_ballots AS b
  JOIN poll_votes AS v ON v.world_id = b.world_id AND v.ballot = b.number
  JOIN poll_options AS o ON o.world_id = v.world_id AND o.number = v.option
  WHERE b.world_id = $1 ORDER BY b.poll, b.user_id IS NULL, b.number, ${BY_POSITION}`;

/** All polls of a world. @param withVotes whether ballots are included. */
export async function exportPolls(
  sql: Sql,
  world: string,
  withVotes: boolean,
): Promise<PollCopy[]> {
  const rows = await sql.all<PollRow>(SELECT, [world]);
  if (rows.length === 0) return [];
  const options = byPoll(await sql.all<OptionRow>(SELECT_OPTIONS, [world]));
  const choices = byPoll(
    withVotes
      ? await sql.all<Choice & { poll: number }>(SELECT_CHOICES, [world])
      : [],
  );
  return rows.map((row) =>
    toPollCopy(
      row,
      options.get(row.number) ?? [],
      toBallots(choices.get(row.number) ?? []),
    ),
  );
}

function byPoll<R extends { poll: number }>(rows: readonly R[]) {
  const found = new Map<number, R[]>();
  for (const row of rows) {
    const others = found.get(row.poll);
    if (others) others.push(row);
    else found.set(row.poll, [row]);
  }
  return found;
}

/**
 * Creates the polls of a world that has its rooms and users already.
 * @throws {StoreError} `taken` on `polls`, also if an option has the id of another.
 */
export async function importPolls(
  sql: Sql,
  world: string,
  polls: readonly PollCopy[],
): Promise<void> {
  if (polls.length === 0) return;
  const ids = polls.map(({ id }) => id);
  await refuseTaken(sql, "polls", ids, (id) => taken("polls", id));
  const optionIds = polls.flatMap(({ options }) => options.map(({ id }) => id));
  await refuseTaken(sql, "poll_options", optionIds, (id) =>
    taken("polls", id, "an option"),
  );
  const totals = new Map(polls.map((poll) => [poll.id, totalsOf(poll)]));
  function* rows() {
    for (const poll of polls) yield copiedPollRow(poll, totals.get(poll.id)!);
  }
  await insertAll(sql, "polls", world, rows());
  const numbers = await numbersIn(sql, "polls", world);
  function* options() {
    for (const { id: pollId, options } of polls) {
      const poll = numbers.get(pollId)!;
      const { votes } = totals.get(pollId)!;
      for (const { id, content, order } of options) {
        yield { id, poll, content, position: order, votes: votes.get(id)! };
      }
    }
  }
  await insertAll(sql, "poll_options", world, options());
  await importBallots(sql, world, polls, numbers);
}

const BALLOTS =
  "SELECT number, poll, changed FROM poll_ballots WHERE world_id = $1";

/** @param numbers of the polls by their ids. */
async function importBallots(
  sql: Sql,
  world: string,
  polls: readonly PollCopy[],
  numbers: ReadonlyMap<string, number>,
): Promise<void> {
  function* ballots() {
    for (const { id, ballots = [] } of polls) {
      const poll = numbers.get(id)!;
      for (const [i, { user = null }] of ballots.entries()) {
        yield { poll, user_id: user, changed: i + 1 };
      }
    }
  }
  await insertAll(sql, "poll_ballots", world, ballots());
  const stored = await sql.all<{
    number: number;
    poll: number;
    changed: number;
  }>(BALLOTS, [world]);
  const byPlace = new Map(
    stored.map(({ number, poll, changed }) => [`${poll} ${changed}`, number]),
  );
  const optionNumbers = await numbersIn(sql, "poll_options", world);
  function* votes() {
    for (const { id, ballots = [] } of polls) {
      const poll = numbers.get(id)!;
      for (const [i, { options }] of ballots.entries()) {
        const ballot = byPlace.get(`${poll} ${i + 1}`)!;
        for (const one of options) {
          yield { ballot, option: optionNumbers.get(one)! };
        }
      }
    }
  }
  await insertAll(sql, "poll_votes", world, votes());
}
