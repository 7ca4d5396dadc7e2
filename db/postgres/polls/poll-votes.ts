import { chosenOptions } from "../../rules/poll-changes.js";
import { toPoll } from "../../rules/poll-rows.js";
import type { Poll } from "../../contract/polls.js";
import type { Log } from "../log/log.js";
import { expectActive } from "../users/participants.js";
import { findPoll } from "./poll-finding.js";
import type { Sql } from "../../shared/sql.js";

const VOTE = `WITH change AS (
    UPDATE polls SET changed = changed + 1 WHERE world_id = $1 AND number = $2 RETURNING changed),
  ballot AS (
    INSERT INTO poll_ballots (world_id, poll, user_id, changed) SELECT $1, $2, $3, changed FROM change
    ON CONFLICT (world_id, user_id, poll) DO UPDATE SET changed = excluded.changed RETURNING number),
  added AS (
    INSERT INTO poll_votes (world_id, ballot, option)
    SELECT $1, ballot.number, option FROM ballot, unnest($4::bigint[]) AS option),
  removed AS (
    DELETE FROM poll_votes USING ballot
    WHERE world_id = $1 AND ballot = ballot.number AND option = ANY($5::bigint[]))
  UPDATE poll_options SET votes = votes + CASE WHEN number = ANY($4) THEN 1 ELSE -1 END
  WHERE world_id = $1 AND poll = $2 AND number = ANY($4 || $5)`;

/** @see PollStore.vote */
export async function votePoll(
  sql: Sql,
  log: Log,
  worldId: string,
  room: string,
  id: string,
  user: string,
  named: readonly string[],
): Promise<{ poll: Poll; options: string[] }> {
  const found = await findPoll(sql, worldId, room, id, user);
  expectActive(found);
  const { row, options: all, chosen: before } = found;
  const chosen = chosenOptions(row, all, named, before);
  const added = chosen.filter(({ number }) => !before.has(number));
  const removed = all.filter(
    (o) => before.has(o.number) && !chosen.includes(o),
  );
  if (added.length + removed.length > 0) {
    const numbers = [added, removed].map((options) =>
      options.map(({ number }) => number),
    );
    await sql.run(VOTE, [worldId, row.number, user, ...numbers]);
    for (const option of added) option.votes++;
    for (const option of removed) option.votes--;
  }
  log.appendOf(user, { type: "poll.voted", room, poll: id });
  return { poll: toPoll(row, all), options: chosen.map(({ id }) => id) };
}
