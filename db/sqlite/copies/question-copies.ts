import type { QuestionCopy } from "../../../schemas/votes-copy.js";
import {
  QUESTION_COLUMNS,
  type QuestionRow,
} from "../../rules/question-rows.js";
import {
  COPIED_QUESTION_COLUMNS,
  questionValues,
  toQuestionCopy,
} from "../../copies/vote-copies.js";
import { taken } from "../../copies/world-copies.js";
import type { Connection } from "../engine/connection.js";

/** The reads of all questions of a world. */
export function questionCopyReads(db: Connection) {
  const select = db.prepare<[string], QuestionRow>(
    `SELECT ${QUESTION_COLUMNS} FROM questions AS q WHERE q.world_id = ? ORDER BY q.number`,
  );
  const selectVotes = db
    .prepare<[string, number], string | null>(
      `SELECT user_id FROM question_votes WHERE world_id = ? AND question = ?
       ORDER BY user_id IS NULL, number`,
    )
    .pluck();

  return {
    /** @param withVotes whether their voters are included. */
    exportQuestions: (worldId: string, withVotes: boolean): QuestionCopy[] =>
      select
        .all(worldId)
        .map((row) =>
          toQuestionCopy(
            row,
            withVotes ? selectVotes.all(worldId, row.number) : [],
          ),
        ),
  };
}

/** The writes of all questions of a world. */
export function questionCopyWrites(db: Connection) {
  const has = db.prepare<[string]>("SELECT 1 FROM questions WHERE id = ?");
  const add = db.prepare<unknown[]>(
    `INSERT INTO questions (world_id, ${COPIED_QUESTION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const addVote = db.prepare<[string, number | bigint, string | null]>(
    "INSERT INTO question_votes (world_id, question, user_id) VALUES (?, ?, ?)",
  );

  return {
    /**
     * Creates the questions of a world that has its rooms and users already.
     * @throws {StoreError} `taken` on `questions`.
     */
    importQuestions: (
      worldId: string,
      questions: readonly QuestionCopy[],
    ): void => {
      for (const question of questions) {
        const { id, votes = [] } = question;
        if (has.get(id)) throw taken("questions", id);
        const { lastInsertRowid } = add.run(
          worldId,
          ...questionValues(question),
        );
        for (const user of votes) addVote.run(worldId, lastInsertRowid, user);
      }
    },
  };
}
