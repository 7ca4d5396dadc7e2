import type { PollCopy } from "../../../schemas/votes-copy.js";
import {
  BY_POSITION,
  OPTION_COLUMNS,
  type OptionRow,
  POLL_COLUMNS,
  type PollRow,
} from "../../rules/poll-rows.js";
import type { Value } from "../../copies/tables.js";
import {
  type Choice,
  pollValues,
  toBallots,
  toPollCopy,
  totalsOf,
} from "../../copies/vote-copies.js";
import { taken } from "../../copies/world-copies.js";
import { finder, inserter, newNumbers } from "../engine/bulk.js";
import type { Sql } from "../../shared/sql.js";

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

const findIds = finder("polls", "id");
const findOptionIds = finder("poll_options", "id");

const insert = inserter("polls", {
  number: "bigint",
  id: "text",
  room_id: "text",
  content: "text",
  state: "text",
  poll_type: "text",
  is_pinned: "bigint",
  timestamp: "bigint",
  changed: "bigint",
  results: "text",
});

const insertOptions = inserter("poll_options", {
  number: "bigint",
  id: "text",
  poll: "bigint",
  content: "text",
  position: "bigint",
  votes: "bigint",
});

const insertBallots = inserter("poll_ballots", {
  number: "bigint",
  poll: "bigint",
  user_id: "text",
  changed: "bigint",
});

const insertVotes = inserter("poll_votes", {
  ballot: "bigint",
  option: "bigint",
});

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
  await refuseTaken(sql, polls);
  const next = {
    poll: await numbersFor(sql, "polls", polls, () => 1),
    option: await numbersFor(sql, "poll_options", polls, countOptions),
    ballot: await numbersFor(sql, "poll_ballots", polls, countBallots),
  };
  const rows = {
    polls: [] as Value[][],
    options: [] as Value[][],
    ballots: [] as Value[][],
    votes: [] as Value[][],
  };
  for (const poll of polls) {
    const number = next.poll();
    const totals = totalsOf(poll);
    rows.polls.push([number, ...pollValues(poll, totals)]);
    const options = new Map<string, number>();
    for (const { id, content, order } of poll.options) {
      const option = next.option();
      options.set(id, option);
      rows.options.push([
        option,
        id,
        number,
        content,
        order,
        totals.votes.get(id)!,
      ]);
    }
    const { ballots = [] } = poll;
    for (const [i, { user = null, options: chosen }] of ballots.entries()) {
      const ballot = next.ballot();
      rows.ballots.push([ballot, number, user, i + 1]);
      for (const id of chosen) rows.votes.push([ballot, options.get(id)!]);
    }
  }
  await insert(sql, world, rows.polls);
  await insertOptions(sql, world, rows.options);
  await insertBallots(sql, world, rows.ballots);
  await insertVotes(sql, world, rows.votes);
}

const countOptions = ({ options }: PollCopy): number => options.length;
const countBallots = ({ ballots = [] }: PollCopy): number => ballots.length;

/** Makes a function that gives one new number after the other. */
async function numbersFor(
  sql: Sql,
  table: string,
  polls: readonly PollCopy[],
  countIn: (poll: PollCopy) => number,
): Promise<() => number> {
  const count = polls.reduce((sum, poll) => sum + countIn(poll), 0);
  const numbers = (await newNumbers(sql, table, count)).values();
  return () => numbers.next().value!;
}

async function refuseTaken(
  sql: Sql,
  polls: readonly PollCopy[],
): Promise<void> {
  const ids = await findIds(
    sql,
    polls.map(({ id }) => id),
  );
  const optionIds = await findOptionIds(
    sql,
    polls.flatMap(({ options }) => options.map(({ id }) => id)),
  );
  for (const { id, options } of polls) {
    if (ids.has(id)) throw taken("polls", id);
    ids.add(id);
    for (const option of options) {
      if (optionIds.has(option.id))
        throw taken("polls", option.id, "an option");
      optionIds.add(option.id);
    }
  }
}
