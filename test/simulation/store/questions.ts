import {
  deletedQuestion,
  endedQuestionPin,
  createdQuestion,
  unpinnedQuestion,
  updatedQuestion,
} from "../../../db/log/changes.js";
import { absent } from "../../../db/rules/preconditions.js";
import {
  changedQuestion,
  newQuestionRow,
  seesQuestion,
  toQuestion,
} from "../../../db/rules/question-rows.js";
import type { QuestionStore } from "../../../db/contract/questions.js";
import { sameValues } from "../../../db/rules/rows.js";
import {
  appendOf,
  expectActive,
  expectRoom,
  inRoom,
  newest,
} from "./participants.js";
import type { Sync } from "./sync.js";
import type { StoredQuestion } from "./tables.js";
import type { Transaction } from "./transaction.js";
import { expectUser } from "./users.js";

// The questions in a simulated store.

function expectQuestion(
  { tables }: Transaction,
  world: string,
  room: string,
  id: string,
): StoredQuestion {
  expectRoom(tables, world, room);
  const question = tables.questions.get(id);
  if (question?.room !== room) throw absent("question");
  return question;
}

/** Ends the pin of another question. @returns its id. */
function unpinQuestion(
  { tables }: Transaction,
  { world, room }: { world: string; room: string },
  moderator: string,
  except?: string,
): string | undefined {
  const pinned = inRoom(tables.questions, world, room).find(
    (it) => it.is_pinned && it.id !== except,
  );
  if (pinned) {
    tables.questions.set(pinned.id, { ...pinned, is_pinned: 0, moderator });
  }
  return pinned?.id;
}

export const questionStore: Sync<QuestionStore> = {
  get({ tables }, world, room, id) {
    const found = tables.questions.get(id);
    return found?.world === world && found.room === room
      ? toQuestion(found)
      : undefined;
  },
  seen({ tables }, world, room, user, all, limit) {
    const found = inRoom(tables.questions, world, room).filter((question) =>
      seesQuestion(question, user, all),
    );
    return newest(found, limit).map((question) => ({
      ...toQuestion(question),
      voted: question.votes.has(user),
    }));
  },
  ofUser({ tables }, world, room, user) {
    const found = inRoom(tables.questions, world, room);
    return {
      voted: found.filter(({ votes }) => votes.has(user)).map(({ id }) => id),
      hasHidden: found.some((q) => q.sender === user && q.state !== "visible"),
    };
  },
  create(tx, world, room, draft, by) {
    const { tables, now } = tx;
    expectRoom(tables, world, room);
    expectActive(tables, world, draft.sender);
    const id = tx.uuid();
    const number = tables.questions.size;
    const row = { ...newQuestionRow(room, draft), id, timestamp: now, number };
    tables.questions.set(id, { ...row, world, votes: new Set() });
    const question = toQuestion({ ...row, id });
    tx.append(world, createdQuestion(question), by);
    return question;
  },
  update(tx, world, room, id, changes, moderator, by) {
    const row = expectQuestion(tx, world, room, id);
    expectUser(tx.tables, world, moderator);
    const changed = changedQuestion(row, changes, moderator);
    if (changed.content !== row.content) tx.erase(world);
    const [before, after] = [toQuestion(row), toQuestion(changed)];
    const unpinned = changed.is_pinned
      ? unpinQuestion(tx, row, moderator, id)
      : undefined;
    tx.tables.questions.set(id, changed);
    if (!sameValues(row, changed)) {
      tx.append(world, updatedQuestion(before, after), by);
    }
    if (unpinned === undefined) return { before, after };
    tx.append(world, unpinnedQuestion(room, unpinned), by);
    return { before, after, unpinned };
  },
  delete(tx, world, room, id, by) {
    const before = toQuestion(expectQuestion(tx, world, room, id));
    tx.tables.questions.delete(id);
    tx.erase(world);
    tx.append(world, deletedQuestion(before), by);
    return before;
  },
  vote(tx, world, room, id, user, vote, all, by) {
    const row = expectQuestion(tx, world, room, id);
    expectActive(tx.tables, world, user);
    if (!seesQuestion(row, user, all)) throw absent("question");
    if (row.votes.has(user) === vote) return toQuestion(row);
    const votes = new Set(row.votes);
    if (vote) votes.add(user);
    else votes.delete(user);
    const voted = { ...row, votes, score: votes.size };
    tx.tables.questions.set(id, voted);
    appendOf(
      tx,
      world,
      user,
      { type: "question.voted", room, question: id },
      by,
    );
    return toQuestion(voted);
  },
  pin(tx, world, room, id, moderator, by) {
    const row = id === null ? undefined : expectQuestion(tx, world, room, id);
    expectRoom(tx.tables, world, room);
    expectUser(tx.tables, world, moderator);
    const unpinned = unpinQuestion(tx, { world, room }, moderator, id ?? "");
    const pinned = row && { ...row, moderator, is_pinned: 1 };
    const isChanged = pinned
      ? !sameValues(row, pinned) || unpinned !== undefined
      : unpinned !== undefined;
    if (pinned) tx.tables.questions.set(pinned.id, pinned);
    if (isChanged) {
      tx.append(world, { type: "question.pinned", room, question: id }, by);
    }
    const question = pinned && toQuestion(pinned);
    const ended = question ? endedQuestionPin(question, unpinned) : [];
    for (const change of ended) tx.append(world, change, by);
    return question;
  },
};
