import type { Question } from "../contract/questions.js";
import type { Store } from "../contract/store.js";
import { displayNames, pages, timeOf } from "./lists.js";
import { type NamedRoom, results } from "./results.js";

/** The names of the columns, and of the fields of the JSON. */
const COLUMNS = [
  "id",
  "room_id",
  "room",
  "content",
  "state",
  "answered",
  "is_pinned",
  "score",
  "timestamp",
  "sender",
  "sender_name",
] as const;

const toResult = (
  question: Question,
  { id: room_id, name: room }: NamedRoom,
  names: ReadonlyMap<string, string>,
) => ({
  id: question.id,
  room_id,
  room,
  content: question.content,
  state: question.state,
  answered: question.answered,
  is_pinned: question.is_pinned,
  score: question.score,
  timestamp: timeOf(question.timestamp),
  sender: question.sender,
  sender_name: names.get(question.sender ?? "") ?? null,
});

/** The questions of a room, the oldest first, read a page at a time. */
const resultsIn = (store: Store, world: string, room: NamedRoom) =>
  pages(async (page) => {
    const questions = await store.questions.list(world, room.id, page);
    const senders = questions.map(({ sender }) => sender);
    const names = await displayNames(store, world, senders);
    return questions.map((question) => toResult(question, room, names));
  });

/** The questions of rooms with their votes. */
export const questions = results({
  inRooms: ["question.read", "question.moderate"],
  columns: COLUMNS,
  rowsOf: (result: ReturnType<typeof toResult>) => [result],
  records: resultsIn,
});
