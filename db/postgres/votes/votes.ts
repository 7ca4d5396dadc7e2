import type { Question } from "../../contract/questions.js";
import { castIn } from "../../rules/poll-rows.js";
import { absent } from "../../rules/preconditions.js";
import { seesQuestion, toQuestion } from "../../rules/question-rows.js";
import type { EngineWrites } from "../../shared/domain.js";
import { expectActive } from "../../shared/places.js";
import { pollFinder } from "../../shared/poll-finding.js";
import { questionFinder } from "../../shared/question-finding.js";
import type { Sql } from "../../shared/sql.js";

// One statement each: the way to the server and back takes longer than the work there.

const CAST = `WITH change AS (
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

/** @see EngineWrites.castBallot */
export async function castBallot(
  sql: Sql,
  ...[world, room, id, user, named]: Parameters<EngineWrites["castBallot"]>
): ReturnType<EngineWrites["castBallot"]> {
  const found = await pollFinder(sql)(world, room, id, user);
  expectActive(found);
  const { row, options, chosen } = found;
  const { added, removed, answer } = castIn(row, options, named, chosen);
  if (added.length + removed.length > 0) {
    await sql.run(CAST, [world, row.number, user, added, removed]);
  }
  return answer;
}

/** @param change counts the votes that `vote` changed. */
const voting = (vote: string, change: string) =>
  `WITH vote AS (${vote} RETURNING question)
   UPDATE questions SET score = score ${change} FROM vote
   WHERE questions.world_id = $1 AND number = vote.question RETURNING score`;

const ADD_VOTE = voting(
  `INSERT INTO question_votes (world_id, question, user_id) VALUES ($1, $2, $3)
   ON CONFLICT (world_id, user_id, question) DO NOTHING`,
  "+ 1",
);
const REMOVE_VOTE = voting(
  "DELETE FROM question_votes WHERE world_id = $1 AND question = $2 AND user_id = $3",
  "- 1",
);

/** @see EngineWrites.countVote */
export async function countVote(
  sql: Sql,
  ...[world, room, id, user, vote, all]: Parameters<EngineWrites["countVote"]>
): Promise<Question> {
  const found = await questionFinder(sql)(world, room, id, user);
  expectActive(found);
  if (!seesQuestion(found, user, all)) throw absent("question");
  const statement = vote ? ADD_VOTE : REMOVE_VOTE;
  const params = [world, found.number, user];
  const score = await sql.value<number>(statement, params);
  return toQuestion({ ...found, score: score ?? found.score });
}
