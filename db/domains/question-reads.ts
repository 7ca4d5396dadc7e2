import type { Question, QuestionsOfUser, SeenQuestion } from "../contract/questions.js";
import type { PageSelection } from "../contract/store.js";
import { QUESTION_COLUMNS, type QuestionRow, toQuestion } from "../rules/question-rows.js";
import { rangeOf } from "../rules/pages.js";
import type { Sql } from "./sql.js";

const IN_ROOM = "q.world_id = $1 AND q.room_id = $2";

const GET = `SELECT ${QUESTION_COLUMNS} FROM questions AS q WHERE ${IN_ROOM} AND q.id = $3`;

const LIST = `SELECT ${QUESTION_COLUMNS} FROM questions AS q
  WHERE ${IN_ROOM} ORDER BY q.number LIMIT $3 OFFSET $4`;

/**
 * @param conditions each with an index for it. No question meets two of them.
 * @param pinned which pinned question is seen.
 */
function seeing(conditions: readonly string[], pinned: string): string {
  const newest = conditions.map(
    (condition, i) =>
      `SELECT number FROM (
        SELECT q.number FROM questions AS q WHERE ${IN_ROOM} AND q.is_pinned = 0 AND ${condition}
        ORDER BY q.number DESC LIMIT $4) AS newest${i}`,
  );
  // The pinned one counts first, and is there however large it is.
  return `WITH found AS (
      ${newest.join(" UNION ALL ")} UNION ALL
      SELECT q.number FROM questions AS q WHERE ${IN_ROOM} AND q.is_pinned = 1 AND (${pinned})),
    sized AS (
      SELECT ${QUESTION_COLUMNS}, row_number() OVER best AS place, sum(length(q.content)) OVER best AS size
      FROM questions AS q WHERE q.world_id = $1 AND q.number IN (SELECT number FROM found)
      WINDOW best AS (ORDER BY q.is_pinned DESC, q.number DESC))
    SELECT sized.*, EXISTS (SELECT 1 FROM question_votes
        WHERE world_id = $1 AND user_id = $3 AND question = sized.number) AS voted
    FROM sized WHERE is_pinned = 1 OR (place <= $4 AND size <= $5) ORDER BY number`;
}

const SEE_ALL = seeing(["TRUE"], "TRUE");
// Thousands may wait for a moderator. Each condition has an index that leaves them out.
const SEE_OWN = seeing(
  ["q.state = 'visible'", "q.sender = $3 AND q.state <> 'visible'"],
  "q.state = 'visible' OR q.sender = $3",
);

// One line for each vote, and one without an id if the user has hidden questions.
const OF_USER = `SELECT q.id FROM question_votes AS v CROSS JOIN questions AS q
    WHERE v.world_id = $1 AND v.user_id = $3
      AND q.world_id = $1 AND q.number = v.question AND q.room_id = $2
  UNION ALL SELECT NULL WHERE EXISTS (
    SELECT 1 FROM questions AS q WHERE ${IN_ROOM} AND q.sender = $3 AND q.state <> 'visible')`;

/** The reads of questions. */
export const questionReads = (sql: Sql) => ({
  async get(world: string, room: string, id: string): Promise<Question | undefined> {
    const row = await sql.one<QuestionRow>(GET, [world, room, id]);
    return row && toQuestion(row);
  },

  async seen(
    world: string,
    room: string,
    user: string,
    all: boolean,
    limit: number,
    size: number,
  ): Promise<SeenQuestion[]> {
    const rows = await sql.all<QuestionRow & { voted: unknown }>(all ? SEE_ALL : SEE_OWN, [
      world,
      room,
      user,
      limit,
      size,
    ]);
    return rows.map((row) => ({ ...toQuestion(row), voted: Boolean(row.voted) }));
  },

  async ofUser(world: string, room: string, user: string): Promise<QuestionsOfUser> {
    const ids = await sql.column<string | null>(OF_USER, [world, room, user]);
    const voted = ids.filter((id) => id !== null);
    return { voted, hasHidden: voted.length < ids.length };
  },

  async list(world: string, room: string, selection: PageSelection): Promise<Question[]> {
    const { limit, offset } = rangeOf(selection, Number.MAX_SAFE_INTEGER);
    const params = [world, room, limit, offset];
    return (await sql.all<QuestionRow>(LIST, params)).map(toQuestion);
  },
});
