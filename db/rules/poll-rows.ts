import { randomUUID } from "node:crypto";
import { isOver } from "../../schemas/plain/items.js";
import { MAX_OPTIONS } from "../../schemas/plain/limits.js";
import type {
  Ballot,
  OptionDraft,
  Poll,
  PollChanges,
  PollDraft,
  PollOption,
} from "../contract/poll-store.js";
import { StoreError } from "../contract/store.js";
import { POLL } from "./chat-rows.js";
import { absent } from "./preconditions.js";

/** A poll as it is stored, without its options. */
export interface PollRow extends Omit<Poll, "is_pinned" | "options" | "results"> {
  /** Names the poll in the other tables, and counts up. */
  number: number;
  is_pinned: number;
  /** JSON of the results of a closed or archived poll; null for others. */
  results: string | null;
}

export interface OptionRow extends PollOption {
  /** Names the option in the table of votes, and counts up. */
  number: number;
  poll: number;
  votes: number;
}

/** The columns of a poll beside its number, world and room. */
export const POLL_FIELDS = [
  "id",
  "content",
  "state",
  "poll_type",
  "is_pinned",
  "timestamp",
  "results",
] as const satisfies readonly (keyof PollRow)[];

export const POLL_COLUMNS = `p.number, p.room_id AS room, ${POLL_FIELDS.map((name) => `p.${name}`).join()}`;

/** The columns of an {@link OptionRow}, of `poll_options AS o`, and the order of options. */
export const OPTION_COLUMNS = 'o.number, o.id, o.poll, o.content, o.position AS "order", o.votes';
export const BY_POSITION = "o.position, o.number";

/** The votes in the options of a poll, by their ids. */
export const votesIn = (options: readonly Pick<OptionRow, "id" | "votes">[]): Poll["results"] =>
  Object.fromEntries(options.map(({ id, votes }) => [id, votes]));

/** @param options in their order. */
export const toPoll = (
  row: Omit<PollRow, "number">,
  options: readonly Omit<OptionRow, "number" | "poll">[],
): Poll => ({
  id: row.id,
  room: row.room,
  content: row.content,
  state: row.state,
  poll_type: row.poll_type,
  is_pinned: row.is_pinned === 1,
  timestamp: row.timestamp,
  options: options.map(({ id, content, order }) => ({ id, content, order })),
  results: row.results === null ? votesIn(options) : (JSON.parse(row.results) as Poll["results"]),
});

/** The ballots of a user. @param choices in the order of the polls, and of their options. */
export function ballotsIn(choices: Iterable<{ poll: string; option: string }>): Ballot[] {
  const ballots = new Map<string, Ballot>();
  for (const { poll, option } of choices) {
    const ballot = ballots.get(poll);
    if (ballot) ballot.options.push(option);
    else ballots.set(poll, { poll, options: [option] });
  }
  return [...ballots.values()];
}

/** The size of each poll and each option in a list beside its text (`PollSelection.size`). */
export const POLL_OVERHEAD = 100;

// What engines share that write polls.

interface NewPoll {
  row: Omit<PollRow, "number">;
  /** In the order in which they get their numbers. */
  options: SavedOption[];
  poll: Poll;
}

/** A new poll, with new ids. @throws {StoreError} `quota` on `options`. */
export function newPoll(
  room: string,
  { content, options, state = "draft", poll_type = "choice" }: PollDraft,
): NewPoll {
  const saved = newOptions(options);
  const shown = saved.map((option) => ({ ...option, votes: 0 })).sort((a, b) => a.order - b.order);
  const row = {
    id: randomUUID(),
    room,
    content,
    state,
    poll_type,
    is_pinned: 0,
    timestamp: Date.now(),
    results: isOver({ state }) ? frozenResults(shown) : null,
  };
  return { row, options: saved, poll: toPoll(row, shown) };
}

/** @param options of the poll after the change, in their order. */
export function changedPoll(
  row: PollRow,
  { content, state, poll_type, is_pinned }: PollChanges,
  options: readonly OptionRow[],
): PollRow {
  const changed = {
    ...row,
    content: content ?? row.content,
    state: state ?? row.state,
    poll_type: poll_type ?? row.poll_type,
    is_pinned: Number(is_pinned ?? row.is_pinned),
  };
  if (isOver(changed) !== isOver(row)) {
    changed.results = isOver(changed) ? frozenResults(options) : null;
  }
  return changed;
}

/** What the results of a poll are frozen to: JSON. */
const frozenResults = (options: readonly Pick<OptionRow, "id" | "votes">[]): string =>
  JSON.stringify(votesIn(options));

/** Whether a change opens a poll, which the chat of its room announces. */
export const isOpened = (before: PollRow, after: PollRow): boolean =>
  before.state === "draft" && after.state === "open";

/** The event that announces an open poll in the chat of its room. */
export const openingOf = (poll: string, sender: string) => ({
  type: POLL,
  sender,
  content: JSON.stringify({ poll_id: poll, state: "open" }),
});

/**
 * The options that a user votes for.
 * @param options of the poll.
 * @param ids of the chosen ones; unknown ones do not count. Only an empty list withdraws a vote.
 * @param before the numbers of the options that the user has chosen.
 * @throws {StoreError} `denied` on `poll`.
 */
export function chosenOptions(
  { state, poll_type }: PollRow,
  options: readonly OptionRow[],
  ids: readonly string[],
  before: ReadonlySet<number>,
): OptionRow[] {
  const named = new Set(ids);
  const chosen = options.filter(({ id }) => named.has(id));
  if (state !== "open") throw refused("The poll is not open.");
  if (poll_type === "choice" && chosen.length > 1) {
    throw refused("The poll has a choice of one.");
  }
  return ids.length > 0 && chosen.length === 0
    ? options.filter(({ number }) => before.has(number))
    : chosen;
}

/**
 * The ballot of a user after a vote, of which the options get their new votes.
 * @param ids as for {@link chosenOptions}, and `before` also.
 */
export function castIn(
  row: PollRow,
  options: readonly OptionRow[],
  ids: readonly string[],
  before: ReadonlySet<number>,
) {
  const chosen = chosenOptions(row, options, ids, before);
  const added = chosen.filter(({ number }) => !before.has(number));
  const removed = options.filter((option) => before.has(option.number) && !chosen.includes(option));
  for (const option of added) option.votes++;
  for (const option of removed) option.votes--;
  return {
    added: added.map(({ number }) => number),
    removed: removed.map(({ number }) => number),
    answer: { poll: toPoll(row, options), options: chosen.map(({ id }) => id) },
  };
}

const refused = (reason: string) => new StoreError("denied", reason, "poll");

export const severalChosen = () =>
  new StoreError("denied", "Some people have chosen several options.", "poll_type");

/** The highest order that an option can have. */
const HIGHEST = 2 ** 31 - 1;

/** An option that is to be stored; a new one has no number. */
export type SavedOption = Pick<OptionRow, "id" | "content" | "order"> & {
  number?: number;
};

/** An option whose order may have to be found. */
type Unplaced = Omit<SavedOption, "order"> & { order: number | undefined };

export interface OptionPlan {
  kept: SavedOption[];
  removed: OptionRow[];
}

/** The options of a new poll, with new ids. @throws {StoreError} `quota` on `options`. */
function newOptions(drafts: readonly OptionDraft[]): SavedOption[] {
  expectFew(drafts);
  return placed(drafts.map(({ content, order }) => ({ id: randomUUID(), content, order })));
}

/**
 * Computes a change of the options of a poll.
 * @param present the options of the poll.
 * @throws {StoreError} `absent` on `option`, or `quota` on `options`.
 */
export function planOptions(
  present: readonly OptionRow[],
  asked: NonNullable<PollChanges["options"]>,
): OptionPlan {
  const left = new Map(present.map((option) => [option.id, option]));
  const kept = asked.map(({ id, content, order }): Unplaced => {
    if (id === undefined) {
      if (content === undefined) throw absent("option");
      return { id: randomUUID(), content, order };
    }
    const option = left.get(id);
    // An id that is named twice is not there the second time.
    if (!option) throw absent("option");
    left.delete(id);
    return {
      id,
      number: option.number,
      content: content ?? option.content,
      order: order ?? option.order,
    };
  });
  expectFew(kept);
  return { kept: placed(kept), removed: [...left.values()] };
}

/** @throws {StoreError} `quota` on `options`. */
function expectFew(options: readonly unknown[]): void {
  if (options.length > MAX_OPTIONS) {
    throw new StoreError("quota", `A poll may have ${MAX_OPTIONS} options.`, "options");
  }
}

/** Puts the options without an order behind all others. */
function placed(options: readonly Unplaced[]): SavedOption[] {
  const orders = options.flatMap(({ order }) => order ?? []);
  let last = orders.length > 0 ? Math.max(...orders) : 0;
  return options.map((option) => ({
    ...option,
    order: option.order ?? (last = Math.min(last + 1, HIGHEST)),
  }));
}
