import type { Question, QuestionChanges, QuestionDraft } from "../contract/questions.js";
import type { ItemUpdate } from "../contract/items.js";
import {
  createdQuestion,
  deletedQuestion,
  endedQuestionPin,
  unpinnedQuestion,
  updatedQuestion,
} from "../log/changes.js";
import { absent } from "../rules/preconditions.js";
import {
  changedQuestion,
  newQuestionRow,
  QUESTION_COLUMNS,
  type QuestionRow,
  seesQuestion,
  toQuestion,
} from "../rules/question-rows.js";
import { domain, type DomainLog } from "./domain.js";
import { expectActive, expectRoom, expectUser, FIND_PLACE, type Place, PLACE } from "./places.js";
import { questionReads } from "./question-reads.js";
import type { Sql } from "./sql.js";

const FIND = `SELECT ${PLACE}, ${QUESTION_COLUMNS} FROM (VALUES (1)) AS place
  LEFT JOIN questions AS q ON q.world_id = $1 AND q.room_id = $2 AND q.id = $4`;

/** Finds a question, its room and a user, as writes need them. */
const questionFinder =
  (sql: Sql) =>
  /**
   * @param user none if null.
   * @throws {StoreError} `absent` on `room` or `question`.
   */
  async (
    world: string,
    room: string,
    id: string,
    user: string | null,
  ): Promise<Place & QuestionRow> => {
    const params = [world, room, user, id];
    const found = (await sql.one<Place & QuestionRow>(FIND, params))!;
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

/** The writes of questions. */
export function questionWrites(sql: Sql, log: DomainLog) {
  const find = questionFinder(sql);

  /** @returns the id of the question whose pin ended. */
  const unpin = (world: string, room: string, moderator: string | null, except: string | null) =>
    sql.value<string>(UNPIN, [world, room, moderator, except]);

  /** Writes a question, and ends the pin of another if it is pinned. */
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
      const place = (await sql.one<Place>(FIND_PLACE, params))!;
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
        const place = (await sql.one<Place>(FIND_PLACE, params))!;
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
