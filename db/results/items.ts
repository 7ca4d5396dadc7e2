import type { Poll } from "../contract/poll-store.js";
import type { Question } from "../contract/question-store.js";
import type { ListedUser, Store } from "../contract/store.js";
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

/** The questions of a room, the oldest first, read a page at a time. */
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

/** The names of the columns: of a poll, which are repeated, and of an option. */
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
] as const;

type Result = ReturnType<typeof toPoll>;

const toPoll = (
  { id, content, state, poll_type, is_pinned, ...poll }: Poll,
  { id: room_id, name: room }: NamedRoom,
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
});

export interface OptionResult {
  id: string;
  /** Null of an option that was deleted after the results were frozen, like `order`. */
  content: string | null;
  order: number | null;
  votes: number;
}

function optionsOf({ options, results }: Pick<Poll, "options" | "results">): OptionResult[] {
  const present = new Set(options.map(({ id }) => id));
  const deleted = Object.keys(results).filter((id) => !present.has(id));
  return [
    ...options.map(({ id, content, order }) => ({ id, content, order, votes: results[id] ?? 0 })),
    ...deleted.map((id) => ({ id, content: null, order: null, votes: results[id]! })),
  ];
}

/** The rows of a poll: one for each option, or one if there is none. */
const toRows = ({ options, ...poll }: Result) =>
  options.length === 0
    ? [{ ...poll, option_id: null, option: null, order: null, votes: null }]
    : options.map(({ id, content, order, votes }) => ({
        ...poll,
        option_id: id,
        option: content,
        order,
        votes,
      }));

/** The polls of a room with their results, the oldest first. */
async function* pollsIn(store: Store, world: string, room: NamedRoom) {
  const all = { limit: Infinity };
  for (const poll of await store.polls.list(world, room.id, all)) {
    yield toPoll(poll, room);
  }
}

export const polls = results({
  inRooms: ["poll.read", "poll.manage"],
  columns: POLL_COLUMNS,
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

const toPerson = ({ id, token_id, ...user }: ListedUser) => {
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

/** The users of a world, the first created first. */
export const people = results({
  inWorld: ["user.list"],
  columns: COLUMNS,
  rowsOf: (person: Person) => [{ ...person, traits: person.traits.join(", ") }],
  records: peopleOf,
});
