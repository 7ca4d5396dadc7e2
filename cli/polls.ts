import { Command } from "commander";
import type { Poll } from "../db/contract/polls.js";
import type { Store } from "../db/contract/store.js";
import {
  printRecords,
  recordsCommand,
  type RecordsOptions,
} from "./records.js";
import type { NamedRoom } from "./rooms.js";

/** The names of the columns: those of a poll, which are repeated, and of an option. */
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
  timestamp: new Date(poll.timestamp).toISOString(),
  options: optionsOf(poll),
});

interface OptionResult {
  id: string;
  /** Null of an option that was deleted after the results were frozen, like `order`. */
  content: string | null;
  order: number | null;
  votes: number;
}

function optionsOf({
  options,
  results,
}: Pick<Poll, "options" | "results">): OptionResult[] {
  const present = new Set(options.map(({ id }) => id));
  const deleted = Object.keys(results).filter((id) => !present.has(id));
  return [
    ...options.map(({ id, content, order }) => ({
      ...{ id, content, order },
      votes: results[id] ?? 0,
    })),
    ...deleted.map((id) => ({
      ...{ id, content: null, order: null },
      votes: results[id]!,
    })),
  ];
}

/** The rows of a poll: one for each option, or one if there is none. */
const toRows = ({ options, ...poll }: Result) =>
  options.length === 0
    ? [{ ...poll, option_id: null, option: null, order: null, votes: null }]
    : options.map(({ id, content, order, votes }) => ({
        ...poll,
        ...{ option_id: id, option: content, order, votes },
      }));

/** The polls of a room with their results, the oldest first. */
async function* resultsIn(store: Store, world: string, room: NamedRoom) {
  const all = { limit: Infinity };
  for (const poll of await store.polls.list(world, room.id, all)) {
    yield toResult(poll, room);
  }
}

const printResults = recordsCommand(
  "results <world>",
  "print the polls of the rooms of a world with their results, the oldest first",
  'poll results summit --room "Main stage" --format csv > polls.csv',
).action((world: string, options: RecordsOptions) =>
  printRecords(world, options, {
    inRoom: resultsIn,
    columns: COLUMNS,
    rowsOf: toRows,
  }),
);

/** `foyer poll …` */
export const pollCommand = new Command("poll")
  .description("print the results of the polls of a world")
  .addCommand(printResults);
