import { hasCounts, type PollSummary } from "../../schemas/plain/polls.js";
import type { Poll } from "../contract/poll-store.js";
import type { Question } from "../contract/question-store.js";
import type { UserListing, Store } from "../contract/store.js";
import { allUsers, displayNames, type NamedRoom, pages, results, timeOf } from "./results.js";

const QUESTION_COLUMNS = [
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

const toQuestion = (
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

/** Reads a room's questions, oldest first, one page at a time. */
const questionsIn = (store: Store, world: string, room: NamedRoom) =>
  pages(async (page) => {
    const questions = await store.questions.list(world, room.id, page);
    const senders = questions.map(({ sender }) => sender);
    const names = await displayNames(store, world, senders);
    return questions.map((question) => toQuestion(question, room, names));
  });

export const questions = results({
  inRooms: ["question.read", "question.moderate"],
  columns: QUESTION_COLUMNS,
  rowsOf: (result: ReturnType<typeof toQuestion>) => [result],
  records: questionsIn,
});

/**
 * The columns of a poll, which are repeated in every row, followed by those of an option, a word, a
 * text or a value.
 */
const POLL_COLUMNS = [
  "id",
  "room_id",
  "room",
  "content",
  "state",
  "poll_type",
  "is_pinned",
  "timestamp",
  "option_id",
  "option",
  "order",
  "votes",
  "points",
  "correct",
] as const;

type Result = ReturnType<typeof toPoll>;

const toPoll = (
  { id, content, state, poll_type, is_pinned, ...poll }: Poll,
  { id: room_id, name: room }: NamedRoom,
  summary: PollSummary | undefined,
) => ({
  id,
  room_id,
  room,
  content,
  state,
  poll_type,
  is_pinned,
  timestamp: timeOf(poll.timestamp),
  options: optionsOf(poll),
  ...(summary && { summary }),
});

export interface OptionResult {
  id: string;
  /** Null, like `order`, for an option that was deleted after the results were frozen. */
  content: string | null;
  order: number | null;
  votes: number;
  /** Of an option of a quiz. */
  correct?: boolean;
}

function optionsOf({ options, results }: Pick<Poll, "options" | "results">): OptionResult[] {
  const present = new Set(options.map(({ id }) => id));
  const deleted = Object.keys(results).filter((id) => !present.has(id));
  return [
    ...options.map(({ id, content, order, correct }) => ({
      ...{ id, content, order, votes: results[id] ?? 0 },
      ...(correct !== undefined && { correct }),
    })),
    ...deleted.map((id) => ({ id, content: null, order: null, votes: results[id]! })),
  ];
}

/** What the rows of a poll say in addition to its columns. */
interface Line {
  option_id?: string;
  option?: string | null;
  order?: number | null;
  votes?: number;
  points?: number;
  correct?: boolean;
}

const NO_LINE = {
  ...{ option_id: null, option: null, order: null },
  ...{ votes: null, points: null, correct: null },
};

/** Converts a poll to rows, or to a single row if there is nothing to count. */
function toRows({ options, summary, ...poll }: Result) {
  const lines = linesOf(options, summary);
  return (lines.length > 0 ? lines : [{}]).map((line) => ({ ...poll, ...NO_LINE, ...line }));
}

function linesOf(options: readonly OptionResult[], summary: PollSummary | undefined): Line[] {
  if (!summary) {
    return options.map(({ id, content, ...rest }) => ({ option_id: id, option: content, ...rest }));
  }
  if ("words" in summary) {
    return summary.words.map(({ text, count }) => ({ option: text, votes: count }));
  }
  if ("answers" in summary) {
    return summary.answers.map(({ id, text }) => ({ option_id: id, option: text }));
  }
  if ("counts" in summary) {
    return Object.entries(summary.counts).map(([value, votes]) => ({ option: value, votes }));
  }
  return options.map(({ id, content, order }) => ({
    ...{ option_id: id, option: content, order },
    points: summary.scores[id] ?? 0,
  }));
}

/** Yields a room's polls with their results, oldest first. What managers have hidden is left out. */
async function* pollsIn(store: Store, world: string, room: NamedRoom) {
  const all = { limit: Infinity };
  for (const poll of await store.polls.list(world, room.id, all)) {
    const summary = hasCounts(poll.poll_type)
      ? undefined
      : await store.polls.summary(world, room.id, poll.id, false, true);
    yield toPoll(poll, room, summary);
  }
}

export const polls = results({
  inRooms: ["poll.read", "poll.manage"],
  columns: POLL_COLUMNS,
  sheetBy: "poll_type",
  rowsOf: toRows,
  records: pollsIn,
});

const COLUMNS = [
  "id",
  "token_id",
  "display_name",
  "traits",
  "moderation_state",
  "last_login",
  "last_seen",
] as const;

const toPerson = ({ id, token_id, ...user }: UserListing) => {
  const name = user.profile?.display_name;
  return {
    id,
    token_id,
    display_name: typeof name === "string" ? name : null,
    traits: user.traits,
    moderation_state: user.moderation_state || "none",
    last_login: user.last_login === null ? null : timeOf(user.last_login),
    last_seen: timeOf(user.last_seen),
  };
};

type Person = ReturnType<typeof toPerson>;

async function* peopleOf(store: Store, world: string): AsyncGenerator<Person> {
  for await (const user of allUsers(store, world)) yield toPerson(user);
}

/** The users in a world, in order of creation. */
export const people = results({
  inWorld: ["user.list"],
  columns: COLUMNS,
  rowsOf: (person: Person) => [{ ...person, traits: person.traits.join(", ") }],
  records: peopleOf,
});
