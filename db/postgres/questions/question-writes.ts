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
import type { Log } from "../log/log.js";
import {
  expectActive,
  expectRoom,
  expectUser,
  PLACE,
  type Place,
} from "../users/participants.js";
import type { Sql } from "../../shared/sql.js";

const FIND = `SELECT ${PLACE}, ${QUESTION_COLUMNS} FROM (VALUES (1)) AS place
  LEFT JOIN questions AS q ON q.world_id = $1 AND q.room_id = $2 AND q.id = $4`;

/** A question, and its room and user. */
type Found = Place & QuestionRow;

/** @throws {StoreError} `absent` on `room` or `question`. */
async function find(
  sql: Sql,
  worldId: string,
  room: string,
  id: string,
  user: string | null,
): Promise<Found> {
  const params = [worldId, room, user, id];
  const found = (await sql.one<Found>(FIND, params))!;
  expectRoom(found);
  if ((found.id as unknown) === null) throw absent("question");
  return found;
}

const FIND_PLACE = `SELECT ${PLACE}`;

const ASK = `INSERT INTO questions (world_id, id, room_id, sender, content, state, timestamp)
  VALUES ($1, $2, $3, $4, $5, $6, $7)`;

export async function askQuestion(
  sql: Sql,
  log: Log,
  worldId: string,
  room: string,
  draft: QuestionDraft,
): Promise<Question> {
  const params = [worldId, room, draft.sender];
  const place = (await sql.one<Place>(FIND_PLACE, params))!;
  expectRoom(place);
  expectActive(place);
  const row = newQuestionRow(room, draft);
  const { id, sender, content, state, timestamp } = row;
  await sql.run(ASK, [worldId, id, room, sender, content, state, timestamp]);
  const question = toQuestion(row);
  log.append(createdQuestion(question));
  return question;
}

const UNPIN = `UPDATE questions SET is_pinned = 0, moderator = $3
  WHERE world_id = $1 AND room_id = $2 AND is_pinned = 1 AND id IS DISTINCT FROM $4 RETURNING id`;

const UPDATE = `UPDATE questions SET moderator = $3, content = $4, state = $5, answered = $6, is_pinned = $7
  WHERE world_id = $1 AND number = $2`;

/** Writes a question, and ends the pin of another if it is pinned. */
async function save(sql: Sql, worldId: string, row: QuestionRow) {
  const { id, room, number, moderator } = row;
  const unpinned = row.is_pinned
    ? await sql.value<string>(UNPIN, [worldId, room, moderator, id])
    : undefined;
  await sql.run(UPDATE, [
    worldId,
    number,
    moderator,
    row.content,
    row.state,
    row.answered,
    row.is_pinned,
  ]);
  return {
    after: toQuestion(row),
    ...(unpinned !== undefined && { unpinned }),
  };
}

export async function updateQuestion(
  sql: Sql,
  log: Log,
  worldId: string,
  room: string,
  id: string,
  changes: QuestionChanges,
  moderator: string,
): Promise<{ before: Question; after: Question; unpinned?: string }> {
  const found = await find(sql, worldId, room, id, moderator);
  expectUser(found);
  const changed = changedQuestion(found, changes, moderator);
  if (changed.content !== found.content) {
    log.erased("questions");
    log.erasedData();
  }
  const before = toQuestion(found);
  const saved = await save(sql, worldId, changed);
  const { after, unpinned } = saved;
  log.append(updatedQuestion(before, after));
  if (unpinned !== undefined) log.append(unpinnedQuestion(room, unpinned));
  return { before, ...saved };
}

export async function deleteQuestion(
  sql: Sql,
  log: Log,
  worldId: string,
  room: string,
  id: string,
): Promise<Question> {
  const found = await find(sql, worldId, room, id, null);
  const params = [worldId, found.number];
  await sql.run(
    "DELETE FROM questions WHERE world_id = $1 AND number = $2",
    params,
  );
  const question = toQuestion(found);
  log.append(deletedQuestion(question));
  log.erased("questions");
  log.erasedData();
  return question;
}

/** @param change counts the votes that `vote` changed. */
const voting = (vote: string, change: string) =>
  `WITH vote AS (${vote} RETURNING question)
   UPDATE questions SET score = score ${change} FROM vote
   WHERE questions.world_id = $1 AND number = vote.question RETURNING score`;

const ADD_VOTE = voting(
  `INSERT INTO question_votes (world_id, question, user_id) VALUES ($1, $2, $3)
   ON CONFLICT (world_id, user_id, question) DO NOTHING`,
  "+ 1",
);
const REMOVE_VOTE = voting(
  "DELETE FROM question_votes WHERE world_id = $1 AND question = $2 AND user_id = $3",
  "- 1",
);

export async function voteQuestion(
  sql: Sql,
  log: Log,
  worldId: string,
  room: string,
  id: string,
  user: string,
  vote: boolean,
  all: boolean,
): Promise<Question> {
  const found = await find(sql, worldId, room, id, user);
  expectActive(found);
  if (!seesQuestion(found, user, all)) throw absent("question");
  const score = await sql.value<number>(vote ? ADD_VOTE : REMOVE_VOTE, [
    worldId,
    found.number,
    user,
  ]);
  log.appendOf(user, { type: "question.voted", room, question: id });
  return toQuestion({ ...found, score: score ?? found.score });
}

export async function pinQuestion(
  sql: Sql,
  log: Log,
  worldId: string,
  room: string,
  id: string | null,
  moderator: string,
): Promise<Question | undefined> {
  if (id !== null) {
    const found = await find(sql, worldId, room, id, moderator);
    expectUser(found);
    const pinned = { ...found, moderator, is_pinned: 1 };
    log.append({ type: "question.pinned", room, question: id });
    const { after, unpinned } = await save(sql, worldId, pinned);
    endedQuestionPin(after, unpinned).forEach((ended) => log.append(ended));
    return after;
  }
  const place = (await sql.one<Place>(FIND_PLACE, [worldId, room, moderator]))!;
  expectRoom(place);
  expectUser(place);
  await sql.run(UNPIN, [worldId, room, moderator, null]);
  log.append({ type: "question.pinned", room, question: null });
  return undefined;
}
