import type { QuestionCopy } from "../../../schemas/votes-copy.js";
import {
  QUESTION_COLUMNS,
  type QuestionRow,
} from "../../rules/question-rows.js";
import { questionValues, toQuestionCopy } from "../../copies/vote-copies.js";
import { taken } from "../../copies/world-copies.js";
import { finder, inserter, newNumbers } from "../engine/bulk.js";
import type { Sql } from "../../shared/sql.js";

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

const findIds = finder("questions", "id");

const insert = inserter("questions", {
  number: "bigint",
  id: "text",
  room_id: "text",
  sender: "text",
  moderator: "text",
  content: "text",
  state: "text",
  answered: "bigint",
  is_pinned: "bigint",
  timestamp: "bigint",
  score: "bigint",
});

const insertVotes = inserter("question_votes", {
  question: "bigint",
  user_id: "text",
});

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
  const ids = await findIds(
    sql,
    questions.map(({ id }) => id),
  );
  for (const { id } of questions) {
    if (ids.has(id)) throw taken("questions", id);
    ids.add(id);
  }
  const numbers = await newNumbers(sql, "questions", questions.length);
  const rows = questions.map((question, i) => [
    numbers[i]!,
    ...questionValues(question),
  ]);
  await insert(sql, world, rows);
  function* votes() {
    for (const [i, { votes = [] }] of questions.entries()) {
      for (const user of votes) yield [numbers[i]!, user];
    }
  }
  await insertVotes(sql, world, votes());
}
