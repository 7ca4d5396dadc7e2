import type {
  Question,
  QuestionChanges,
  QuestionDraft,
} from "../contract/questions.js";
import type { ItemUpdate } from "../contract/items.js";
import {
  createdQuestion,
  deletedQuestion,
  endedQuestionPin,
  unpinnedQuestion,
  updatedQuestion,
} from "../log/changes.js";
import {
  changedQuestion,
  newQuestionRow,
  type QuestionRow,
  toQuestion,
} from "../rules/question-rows.js";
import { domain, type DomainLog, type EngineWrites } from "./domain.js";
import {
  expectActive,
  expectRoom,
  expectUser,
  FIND_PLACE,
  type Place,
} from "./places.js";
import { questionFinder } from "./question-finding.js";
import { questionReads } from "./question-reads.js";
import type { Sql } from "./sql.js";

const ASK = `INSERT INTO questions (world_id, id, room_id, sender, named, content, state, timestamp)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`;

const UNPIN = `UPDATE questions SET is_pinned = 0, moderator = $3
  WHERE world_id = $1 AND room_id = $2 AND is_pinned = 1 AND id IS DISTINCT FROM $4 RETURNING id`;

const UPDATE = `UPDATE questions SET moderator = $3, content = $4, state = $5, answered = $6, is_pinned = $7
  WHERE world_id = $1 AND number = $2`;

const REMOVE = "DELETE FROM questions WHERE world_id = $1 AND number = $2";

/** The writes of questions. */
export function questionWrites(sql: Sql, log: DomainLog, own: EngineWrites) {
  const find = questionFinder(sql);

  /** @returns the id of the question whose pin ended. */
  const unpin = (
    world: string,
    room: string,
    moderator: string | null,
    except: string | null,
  ) => sql.value<string>(UNPIN, [world, room, moderator, except]);

  /** Writes a question, and ends the pin of another if it is pinned. */
  async function save(world: string, row: QuestionRow) {
    const { id, room, number, moderator } = row;
    const unpinned = row.is_pinned
      ? await unpin(world, room, moderator, id)
      : undefined;
    const { content, state, answered, is_pinned } = row;
    const values = [moderator, content, state, answered, is_pinned];
    await sql.run(UPDATE, [world, number, ...values]);
    return {
      after: toQuestion(row),
      ...(unpinned !== undefined && { unpinned }),
    };
  }

  return {
    async create(
      world: string,
      room: string,
      draft: QuestionDraft,
    ): Promise<Question> {
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
      const voted = await own.countVote(world, room, id, user, vote, all);
      const change = { type: "question.voted", room, question: id } as const;
      log.appendOf(world, user, change);
      return voted;
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
