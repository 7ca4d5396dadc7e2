import {
  deletedQuestion,
  endedQuestionPin,
  createdQuestion,
  unpinnedQuestion,
  updatedQuestion,
} from "../../log/changes.js";
import { absent } from "../../rules/preconditions.js";
import {
  changedQuestion,
  newQuestionRow,
  QUESTION_COLUMNS,
  type QuestionRow,
  seesQuestion,
  toQuestion,
} from "../../rules/question-rows.js";
import type {
  Question,
  QuestionChanges,
  QuestionDraft,
} from "../../contract/questions.js";
import type { Connection } from "../engine/connection.js";
import type { WriteLog } from "../log/log-writes.js";
import { participantChecks } from "../users/participants.js";

/**
 * The writes of questions. Each runs inside a transaction of its caller.
 * @param erases is called before the content of a question is deleted or replaced,
 *   whose bytes then have to leave the database.
 */
export function questionWrites(
  db: Connection,
  log: WriteLog,
  erases: () => void,
) {
  const { expectRoom, expectUser, expectActive } = participantChecks(db);
  const select = db.prepare<[string, string, string], QuestionRow>(
    `SELECT ${QUESTION_COLUMNS} FROM questions AS q WHERE q.id = ? AND q.world_id = ? AND q.room_id = ?`,
  );
  const insert = db.prepare<Omit<QuestionRow, "number"> & { world: string }>(
    `INSERT INTO questions (world_id, id, room_id, sender, moderator, content, state, answered, is_pinned, timestamp)
     VALUES (@world, @id, @room, @sender, @moderator, @content, @state, @answered, @is_pinned, @timestamp)`,
  );
  const update = db.prepare<QuestionRow>(
    `UPDATE questions SET moderator = @moderator, content = @content, state = @state,
       answered = @answered, is_pinned = @is_pinned WHERE number = @number`,
  );
  const unpin = db
    .prepare<
      {
        world: string;
        moderator: string | null;
        room: string;
        except: string | null;
      },
      string
    >(
      `UPDATE questions SET is_pinned = 0, moderator = @moderator
       WHERE world_id = @world AND room_id = @room AND is_pinned = 1 AND id IS NOT @except RETURNING id`,
    )
    .pluck();
  const remove = db.prepare<[number]>("DELETE FROM questions WHERE number = ?");
  const addVote = db.prepare<[string, number, string]>(
    `INSERT INTO question_votes (world_id, question, user_id) VALUES (?, ?, ?)
     ON CONFLICT (world_id, user_id, question) DO NOTHING`,
  );
  const removeVote = db.prepare<[string, number, string]>(
    "DELETE FROM question_votes WHERE world_id = ? AND question = ? AND user_id = ?",
  );
  const count = db
    .prepare<[number, number], number>(
      "UPDATE questions SET score = score + ? WHERE number = ? RETURNING score",
    )
    .pluck();

  /** @throws {StoreError} `absent` on `room` or `question`. */
  function find(worldId: string, room: string, id: string): QuestionRow {
    expectRoom(worldId, room);
    const row = select.get(id, worldId, room);
    if (!row) throw absent("question");
    return row;
  }

  /** Writes a question, and ends the pin of another if it is pinned. */
  function save(world: string, row: QuestionRow) {
    const { id, room, moderator } = row;
    const unpinned = row.is_pinned
      ? unpin.get({ world, moderator, room, except: id })
      : undefined;
    update.run(row);
    return {
      after: toQuestion(row),
      ...(unpinned !== undefined && { unpinned }),
    };
  }

  return {
    askQuestion(worldId: string, room: string, draft: QuestionDraft): Question {
      expectRoom(worldId, room);
      expectActive(worldId, draft.sender);
      const row = newQuestionRow(room, draft);
      insert.run({ ...row, world: worldId });
      const question = toQuestion(row);
      log.append(worldId, createdQuestion(question));
      return question;
    },

    updateQuestion(
      worldId: string,
      room: string,
      id: string,
      changes: QuestionChanges,
      moderator: string,
    ): { before: Question; after: Question; unpinned?: string } {
      const row = find(worldId, room, id);
      expectUser(worldId, moderator);
      const changed = changedQuestion(row, changes, moderator);
      if (changed.content !== row.content) {
        erases();
        log.erasedData(worldId);
      }
      const before = toQuestion(row);
      const { after, unpinned } = save(worldId, changed);
      log.append(worldId, updatedQuestion(before, after));
      if (unpinned === undefined) return { before, after };
      log.append(worldId, unpinnedQuestion(room, unpinned));
      return { before, after, unpinned };
    },

    deleteQuestion(worldId: string, room: string, id: string): Question {
      const row = find(worldId, room, id);
      erases();
      remove.run(row.number);
      const before = toQuestion(row);
      log.erasedData(worldId);
      log.append(worldId, deletedQuestion(before));
      return before;
    },

    voteQuestion(
      worldId: string,
      room: string,
      id: string,
      user: string,
      vote: boolean,
      all: boolean,
    ): Question {
      const row = find(worldId, room, id);
      expectActive(worldId, user);
      if (!seesQuestion(row, user, all)) throw absent("question");
      const { changes } = (vote ? addVote : removeVote).run(
        worldId,
        row.number,
        user,
      );
      if (changes > 0) row.score = count.get(vote ? 1 : -1, row.number)!;
      const change = { type: "question.voted", room, question: id } as const;
      log.appendOf(worldId, user, change);
      return toQuestion(row);
    },

    pinQuestion(
      worldId: string,
      room: string,
      id: string | null,
      moderator: string,
    ): Question | undefined {
      const change = { type: "question.pinned", room, question: id } as const;
      if (id !== null) {
        const row = find(worldId, room, id);
        expectUser(worldId, moderator);
        const pinned = { ...row, moderator, is_pinned: 1 };
        log.append(worldId, change);
        const { after, unpinned } = save(worldId, pinned);
        for (const ended of endedQuestionPin(after, unpinned)) {
          log.append(worldId, ended);
        }
        return after;
      }
      expectRoom(worldId, room);
      expectUser(worldId, moderator);
      unpin.get({ world: worldId, moderator, room, except: null });
      log.append(worldId, change);
      return undefined;
    },
  };
}
