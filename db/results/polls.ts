import type { Poll } from "../contract/polls.js";
import type { Store } from "../contract/store.js";
import { timeOf } from "./lists.js";
import { type NamedRoom, results } from "./results.js";

/** The names of the columns: of a poll, which are repeated, and of an option. */
const COLUMNS = [
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

type Result = ReturnType<typeof toResult>;

const toResult = (
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
async function* resultsIn(store: Store, world: string, room: NamedRoom) {
  const all = { limit: Infinity };
  for (const poll of await store.polls.list(world, room.id, all)) {
    yield toResult(poll, room);
  }
}

/** The polls of rooms with their results. */
export const polls = results({
  inRooms: ["poll.read", "poll.manage"],
  columns: COLUMNS,
  rowsOf: toRows,
  records: resultsIn,
});
