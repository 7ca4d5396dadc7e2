import type { QuestionCopy } from "../../../schemas/documents/votes-copy.js";
import {
  QUESTION_COLUMNS,
  type QuestionRow,
} from "../../rules/question-rows.js";
import { copiedQuestionRow, toQuestionCopy } from "../../copies/vote-copies.js";
import { taken } from "../../copies/world-copies.js";
import type { Sql } from "../sql.js";
import { insertAll, numbersIn, refuseTaken } from "./bulk.js";

const SELECT = `SELECT ${QUESTION_COLUMNS} FROM questions AS q WHERE q.world_id = $1 ORDER BY q.number`;

const SELECT_VOTES = `SELECT question, user_id FROM question_votes
  WHERE world_id = $1 ORDER BY question, user_id IS NULL, number`;

/** All questions of a world. @param withVotes whether their voters are included. */
export async function exportQuestions(
  sql: Sql,
  world: string,
  withVotes: boolean,
): Promise<QuestionCopy[]> {
  const rows = await sql.all<QuestionRow>(SELECT, [world]);
  const votes = new Map<number, (string | null)[]>();
  const cast = withVotes
    ? await sql.all<{ question: number; user_id: string | null }>(
        SELECT_VOTES,
        [world],
      )
    : [];
  for (const { question, user_id } of cast) {
    const users = votes.get(question);
    if (users) users.push(user_id);
    else votes.set(question, [user_id]);
  }
  return rows.map((row) => toQuestionCopy(row, votes.get(row.number)));
}

/**
 * Creates the questions of a world that has its rooms and users already.
 * @throws {StoreError} `taken` on `questions`.
 */
export async function importQuestions(
  sql: Sql,
  world: string,
  questions: readonly QuestionCopy[],
): Promise<void> {
  if (questions.length === 0) return;
  const ids = questions.map(({ id }) => id);
  await refuseTaken(sql, "questions", ids, (id) => taken("questions", id));
  function* rows() {
    for (const question of questions) yield copiedQuestionRow(question);
  }
  await insertAll(sql, "questions", world, rows());
  const numbers = await numbersIn(sql, "questions", world);
  function* votes() {
    for (const { id, votes = [] } of questions) {
      const question = numbers.get(id)!;
      for (const user of votes) yield { question, user_id: user };
    }
  }
  await insertAll(sql, "question_votes", world, votes());
}
