import { Command } from "commander";
import type { Question } from "../db/contract/questions.js";
import type { Store } from "../db/contract/store.js";
import { pages } from "./lists.js";
import { displayNames } from "./names.js";
import {
  printRecords,
  recordsCommand,
  type RecordsOptions,
} from "./records.js";
import type { NamedRoom } from "./rooms.js";

/** The names of the columns, which are those of the JSON too. */
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
  timestamp: new Date(question.timestamp).toISOString(),
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

const printResults = recordsCommand(
  "results <world>",
  "print the questions of the rooms of a world with their votes, the oldest first",
  'question results summit --room "Main stage" --format csv > questions.csv',
).action((world: string, options: RecordsOptions) =>
  printRecords(world, options, {
    inRoom: resultsIn,
    columns: COLUMNS,
    rowsOf: (result) => [result],
  }),
);

/** `foyer question …` */
export const questionCommand = new Command("question")
  .description("print the questions of a world")
  .addCommand(printResults);
