import type { QuestionCopy } from "../../schemas/votes-copy.js";
import { StoreError } from "../store.js";
import type { Connection } from "./database.js";
import { QUESTION_COLUMNS, type QuestionRow } from "./question-reads.js";

/** The reads of all questions of a world. */
export function questionCopyReads(db: Connection) {
  const select = db.prepare<[string], QuestionRow>(
    `SELECT ${QUESTION_COLUMNS} FROM rooms JOIN questions AS q ON q.room_id = rooms.id
     WHERE rooms.world_id = ? ORDER BY q.number`,
  );
  const selectVotes = db
    .prepare<[number], string | null>(
      `SELECT user_id FROM question_votes WHERE question = ?
       ORDER BY user_id IS NULL, number`,
    )
    .pluck();

  return {
    /** @param withVotes whether it is included who votes for them. */
    exportQuestions: (worldId: string, withVotes: boolean): QuestionCopy[] =>
      select
        .all(worldId)
        .map((row) =>
          toQuestionCopy(row, withVotes ? selectVotes.all(row.number) : []),
        ),
  };
}

const toQuestionCopy = (
  { id, room, content, state, timestamp, ...row }: QuestionRow,
  votes: (string | null)[],
): QuestionCopy => ({
  id,
  room,
  content,
  state,
  timestamp: new Date(timestamp).toISOString(),
  ...(row.sender !== null && { sender: row.sender }),
  ...(row.moderator !== null && { moderator: row.moderator }),
  ...(row.answered && { answered: true }),
  ...(row.is_pinned && { is_pinned: true }),
  ...(votes.length > 0 && { votes }),
});

/** The writes of all questions of a world. */
export function questionCopyWrites(db: Connection) {
  const has = db.prepare<[string]>("SELECT 1 FROM questions WHERE id = ?");
  const add = db.prepare<unknown[]>(
    `INSERT INTO questions (id, room_id, sender, moderator, content, state, answered, is_pinned,
       timestamp, score) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const addVote = db.prepare<[number | bigint, string | null]>(
    "INSERT INTO question_votes (question, user_id) VALUES (?, ?)",
  );

  return {
    /**
     * Creates the questions of a world that has its rooms and users already.
     * @throws {StoreError} `taken` on `questions`.
     */
    importQuestions: (questions: readonly QuestionCopy[]): void => {
      for (const { id, room, votes = [], ...question } of questions) {
        if (has.get(id)) {
          throw new StoreError(
            "taken",
            `The id ${id} of a question is taken.`,
            "questions",
          );
        }
        const { lastInsertRowid } = add.run(
          id,
          room,
          question.sender ?? null,
          question.moderator ?? null,
          question.content,
          question.state,
          Number(question.answered ?? false),
          Number(question.is_pinned ?? false),
          Date.parse(question.timestamp),
          votes.length,
        );
        for (const user of votes) addVote.run(lastInsertRowid, user);
      }
    },
  };
}
