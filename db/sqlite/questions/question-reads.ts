import {
  QUESTION_COLUMNS,
  type QuestionRow,
  seesQuestion,
  toQuestion,
} from "../../rules/question-rows.js";
import type { Question, SeenQuestion } from "../../contract/questions.js";
import { rangeOf } from "../../rules/rows.js";
import type { PageSelection } from "../../contract/store.js";
import type { Connection } from "../engine/connection.js";

type SeenRow = QuestionRow & { voted: number };

const IN_ROOM = "q.world_id = @world AND q.room_id = @room";

/** The reads of questions. */
export function questionReads(db: Connection) {
  const select = db.prepare<
    { world: string; room: string; id: string },
    QuestionRow
  >(
    `SELECT ${QUESTION_COLUMNS} FROM questions AS q WHERE q.id = @id AND ${IN_ROOM}`,
  );
  const selectPage = db.prepare<
    { world: string; room: string; limit: number; offset: number },
    QuestionRow
  >(
    `SELECT ${QUESTION_COLUMNS} FROM questions AS q
     WHERE ${IN_ROOM} ORDER BY q.number LIMIT @limit OFFSET @offset`,
  );
  const seen = (...conditions: string[]) =>
    db.prepare<{ world: string; room: string; user: string }, SeenRow>(
      `${conditions
        .map(
          (condition) =>
            `SELECT ${QUESTION_COLUMNS}, EXISTS (SELECT 1 FROM question_votes
               WHERE world_id = @world AND user_id = @user AND question = q.number) AS voted
             FROM questions AS q WHERE ${IN_ROOM} AND ${condition}`,
        )
        .join(" UNION ALL ")} ORDER BY 1 DESC`,
    );
  const seenPinned = seen("q.is_pinned = 1");
  const seenAll = seen("1");
  // Thousands may wait for a moderator. Each half has an index that leaves them out.
  const seenByUser = seen(
    "q.state = 'visible'",
    "q.sender = @user AND q.state != 'visible'",
  );

  return {
    get(worldId: string, room: string, id: string): Question | undefined {
      const row = select.get({ world: worldId, room, id });
      return row && toQuestion(row);
    },

    seen(
      worldId: string,
      room: string,
      user: string,
      all: boolean,
      limit: number,
      size: number,
    ): SeenQuestion[] {
      const from = { world: worldId, room, user };
      const seen = seenPinned
        .all(from)
        .filter((row) => seesQuestion(row, user, all));
      let left = seen.reduce((sum, row) => sum - row.content.length, size);
      for (const row of (all ? seenAll : seenByUser).iterate(from)) {
        if (row.is_pinned) continue;
        left -= row.content.length;
        if (left < 0 || seen.length === limit) break;
        seen.push(row);
      }
      return seen
        .sort((a, b) => a.number - b.number)
        .map((row) => ({ ...toQuestion(row), voted: row.voted === 1 }));
    },

    list: (
      worldId: string,
      room: string,
      selection: PageSelection,
    ): Question[] =>
      selectPage
        .all({
          world: worldId,
          room,
          ...rangeOf(selection, Number.MAX_SAFE_INTEGER),
        })
        .map(toQuestion),
  };
}
