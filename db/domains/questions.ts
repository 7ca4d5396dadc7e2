import type { ItemUpdate } from "../contract/item-store.js";
import type {
  Question,
  QuestionChanges,
  QuestionDraft,
  QuestionsOfUser,
  SeenQuestion,
} from "../contract/question-store.js";
import type { PageSelection } from "../contract/store.js";
import {
  createdQuestion,
  deletedQuestion,
  endedQuestionPin,
  unpinnedQuestion,
  updatedQuestion,
} from "../log/changes.js";
import {
  absent,
  expectActive,
  expectRoom,
  expectUser,
  FIND_PLACE,
  type RoomAndUser,
  PLACE,
} from "../rules/preconditions.js";
import {
  changedQuestion,
  newQuestionRow,
  QUESTION_COLUMNS,
  type QuestionRow,
  seesQuestion,
  toQuestion,
} from "../rules/question-rows.js";
import { closeReports } from "./closed-reports.js";
import { domain, type DomainLog, rangeOf, type Sql } from "./domain.js";

const IN_ROOM = "q.world_id = $1 AND q.room_id = $2";

const GET = `SELECT ${QUESTION_COLUMNS} FROM questions AS q WHERE ${IN_ROOM} AND q.id = $3`;

const LIST = `SELECT ${QUESTION_COLUMNS} FROM questions AS q
  WHERE ${IN_ROOM} ORDER BY q.number LIMIT $3 OFFSET $4`;

/**
 * Builds the statement that reads the questions that a user sees.
 * @param conditions mutually exclusive conditions, each with its own index.
 * @param pinned the condition under which a pinned question is visible.
 */
function seeing(conditions: readonly string[], pinned: string): string {
  const newest = conditions.map(
    (condition, i) =>
      `SELECT number FROM (
        SELECT q.number FROM questions AS q WHERE ${IN_ROOM} AND q.is_pinned = 0 AND ${condition}
        ORDER BY q.number DESC LIMIT $4) AS newest${i}`,
  );
  // The pinned question is first in the order, and is included regardless of its size.
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
// Thousands of questions may be waiting for a moderator. The index for each condition excludes
// waiting questions, except the user's own questions.
const SEE_OWN = seeing(
  ["q.state = 'visible'", "q.sender = $3 AND q.state <> 'visible'"],
  "q.state = 'visible' OR q.sender = $3",
);

// Selects a row per vote, plus a row without an id if the user has hidden questions.
const OF_USER = `SELECT q.id FROM question_votes AS v CROSS JOIN questions AS q
    WHERE v.world_id = $1 AND v.user_id = $3
      AND q.world_id = $1 AND q.number = v.question AND q.room_id = $2
  UNION ALL SELECT NULL WHERE EXISTS (
    SELECT 1 FROM questions AS q WHERE ${IN_ROOM} AND q.sender = $3 AND q.state <> 'visible')`;

const questionReads = (sql: Sql) => ({
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

const FIND = `SELECT ${PLACE}, ${QUESTION_COLUMNS} FROM (VALUES (1)) AS place
  LEFT JOIN questions AS q ON q.world_id = $1 AND q.room_id = $2 AND q.id = $4`;

/** Creates a function that finds a question, its room and a user for a write. */
const questionFinder =
  (sql: Sql) =>
  /** @param user null if the write concerns no user. @throws {StoreError} `absent` on `room` or `question`. */
  async (
    world: string,
    room: string,
    id: string,
    user: string | null,
  ): Promise<RoomAndUser & QuestionRow> => {
    const params = [world, room, user, id];
    const found = (await sql.one<RoomAndUser & QuestionRow>(FIND, params))!;
    expectRoom(found);
    if ((found.id as unknown) === null) throw absent("question");
    return found;
  };

const ASK = `INSERT INTO questions (world_id, id, room_id, sender, named, content, state, timestamp)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`;

const UNPIN = `UPDATE questions SET is_pinned = 0, moderator = $3
  WHERE world_id = $1 AND room_id = $2 AND is_pinned = 1 AND id IS DISTINCT FROM $4 RETURNING id`;

const UPDATE = `UPDATE questions SET moderator = $3, content = $4, state = $5, answered = $6, is_pinned = $7
  WHERE world_id = $1 AND number = $2`;

const ADD_VOTE = `INSERT INTO question_votes (world_id, question, user_id) VALUES ($1, $2, $3)
  ON CONFLICT (world_id, user_id, question) DO NOTHING`;

const REMOVE_VOTE =
  "DELETE FROM question_votes WHERE world_id = $1 AND question = $2 AND user_id = $3";

const COUNT =
  "UPDATE questions SET score = score + $3 WHERE world_id = $1 AND number = $2 RETURNING score";

const REMOVE = "DELETE FROM questions WHERE world_id = $1 AND number = $2";

/** The writes of questions, also for moderators who decide about reports. */
export function questionWrites(sql: Sql, log: DomainLog) {
  const find = questionFinder(sql);

  /** @returns the id of the question that was unpinned, if any. */
  const unpin = (world: string, room: string, moderator: string | null, except: string | null) =>
    sql.value<string>(UNPIN, [world, room, moderator, except]);

  /** Writes a question. If it is pinned, unpins any other question in the room. */
  async function save(world: string, row: QuestionRow) {
    const { id, room, number, moderator } = row;
    const unpinned = row.is_pinned ? await unpin(world, room, moderator, id) : undefined;
    const { content, state, answered, is_pinned } = row;
    const values = [moderator, content, state, answered, is_pinned];
    await sql.run(UPDATE, [world, number, ...values]);
    return { after: toQuestion(row), ...(unpinned !== undefined && { unpinned }) };
  }

  return {
    async create(world: string, room: string, draft: QuestionDraft): Promise<Question> {
      const params = [world, room, draft.sender];
      const place = (await sql.one<RoomAndUser>(FIND_PLACE, params))!;
      expectRoom(place);
      expectActive(place);
      const row = newQuestionRow(room, draft);
      const { id, sender, named, content, state, timestamp } = row;
      const values = [sender, named, content, state, timestamp];
      await sql.run(ASK, [world, id, room, ...values]);
      const question = toQuestion(row);
      log.append(world, createdQuestion(question));
      return question;
    },

    async update(
      world: string,
      room: string,
      id: string,
      changes: QuestionChanges,
      moderator: string,
    ): Promise<ItemUpdate<Question>> {
      const found = await find(world, room, id, moderator);
      expectUser(found);
      const changed = changedQuestion(found, changes, moderator);
      if (changed.content !== found.content) {
        log.erased("questions");
        log.erasedData(world);
      }
      const before = toQuestion(found);
      const saved = await save(world, changed);
      const { after, unpinned } = saved;
      log.append(world, updatedQuestion(before, after));
      if (unpinned !== undefined) {
        log.append(world, unpinnedQuestion(room, unpinned));
      }
      return { before, ...saved };
    },

    async delete(world: string, room: string, id: string): Promise<Question> {
      const found = await find(world, room, id, null);
      log.erased("questions");
      log.erasedData(world);
      await sql.run(REMOVE, [world, found.number]);
      const question = toQuestion(found);
      log.append(world, deletedQuestion(question));
      await closeReports(sql, log, world, "question", id, log.user());
      return question;
    },

    async vote(
      world: string,
      room: string,
      id: string,
      user: string,
      vote: boolean,
      all: boolean,
    ): Promise<Question> {
      const row = await find(world, room, id, user);
      expectActive(row);
      if (!seesQuestion(row, user, all)) throw absent("question");
      const { number } = row;
      const changes = await sql.run(vote ? ADD_VOTE : REMOVE_VOTE, [world, number, user]);
      const score =
        changes > 0 ? await sql.value<number>(COUNT, [world, number, vote ? 1 : -1]) : row.score;
      log.appendOf(world, user, { type: "question.voted", room, question: id });
      return toQuestion({ ...row, score: score! });
    },

    async pin(
      world: string,
      room: string,
      id: string | null,
      moderator: string,
    ): Promise<Question | undefined> {
      const change = { type: "question.pinned", room, question: id } as const;
      if (id === null) {
        const params = [world, room, moderator];
        const place = (await sql.one<RoomAndUser>(FIND_PLACE, params))!;
        expectRoom(place);
        expectUser(place);
        await unpin(world, room, moderator, null);
        log.append(world, change);
        return undefined;
      }
      const found = await find(world, room, id, moderator);
      expectUser(found);
      log.append(world, change);
      const pinned = { ...found, moderator, is_pinned: 1 };
      const { after, unpinned } = await save(world, pinned);
      for (const ended of endedQuestionPin(after, unpinned)) {
        log.append(world, ended);
      }
      return after;
    },
  };
}

export const questions = domain({
  reads: questionReads,
  writes: questionWrites,
  parameters: { create: 3, update: 5, delete: 3, vote: 6, pin: 4 },
});
