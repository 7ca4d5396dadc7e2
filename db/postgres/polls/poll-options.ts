import type { OptionPlan, SavedOption } from "../../rules/poll-options.js";
import type { OptionRow } from "../../rules/poll-rows.js";
import type { Sql } from "../../shared/sql.js";

/** Parameters of a statement: the ids, contents and orders of options. */
export const columnsOf = (options: readonly SavedOption[]) => [
  options.map(({ id }) => id),
  options.map(({ content }) => content),
  options.map(({ order }) => order),
];

/** Adds options of {@link columnsOf}, `$3` to `$5`, to the `poll` of a common table expression. */
export const ADD_OPTIONS = `INSERT INTO poll_options (world_id, poll, id, content, position)
  SELECT $1, poll.number, added.id, added.content, added.position
  FROM poll, unnest($3::text[], $4::text[], $5::bigint[])
    WITH ORDINALITY AS added (id, content, position, place)
  ORDER BY added.place`;

const ADD = `WITH poll AS (SELECT $2::bigint AS number) ${ADD_OPTIONS}`;

const CHANGE = `UPDATE poll_options SET content = kept.content, position = kept.position
  FROM unnest($3::text[], $4::text[], $5::bigint[]) AS kept (id, content, position)
  WHERE world_id = $1 AND poll = $2 AND poll_options.id = kept.id`;

// Who voted for them is told of the loss.
const LOSE = `WITH change AS (
    UPDATE polls SET changed = changed + 1 WHERE world_id = $1 AND number = $2 RETURNING changed)
  UPDATE poll_ballots SET changed = change.changed FROM change
  WHERE poll_ballots.world_id = $1 AND poll_ballots.number IN (
    SELECT ballot FROM poll_votes WHERE world_id = $1 AND option = ANY($3::bigint[]))`;

const REMOVE =
  "DELETE FROM poll_options WHERE world_id = $1 AND number = ANY($2::bigint[])";

/** Replaces the options of a poll. */
export async function replaceOptions(
  sql: Sql,
  worldId: string,
  poll: number,
  { kept, removed }: OptionPlan,
): Promise<void> {
  const numbers = removed.map(({ number }) => number);
  if (removed.some(hasVotes)) await sql.run(LOSE, [worldId, poll, numbers]);
  if (removed.length > 0) await sql.run(REMOVE, [worldId, numbers]);
  const isNew = ({ number }: SavedOption) => number === undefined;
  const changed = kept.filter((option) => !isNew(option));
  await sql.run(CHANGE, [worldId, poll, ...columnsOf(changed)]);
  await sql.run(ADD, [worldId, poll, ...columnsOf(kept.filter(isNew))]);
}

const hasVotes = ({ votes }: OptionRow) => votes > 0;
