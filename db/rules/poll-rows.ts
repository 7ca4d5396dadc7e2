import { randomUUID } from "node:crypto";
import { isOver } from "../../schemas/plain/items.js";
import { MAX_OPTIONS } from "../../schemas/plain/limits.js";
import {
  hasCounts,
  isPlainKind,
  isRetuned,
  optionsFault,
  settingFault,
  settingsOf,
  type PollSettings,
  type SentSettings,
} from "../../schemas/plain/polls.js";
import type {
  OptionDraft,
  Poll,
  PollChanges,
  PollDraft,
  PollOption,
} from "../contract/poll-store.js";
import { StoreError } from "../contract/store.js";
import { POLL } from "./chat-rows.js";
import { absent } from "./preconditions.js";

/** The stored form of a poll, without its options. */
export interface PollRow extends Omit<
  Poll,
  "is_pinned" | "options" | "results" | "settings" | "ends_at"
> {
  /** Identifies the poll in other tables; increases over time. */
  number: number;
  is_pinned: number;
  /** The results of a closed or archived poll, as JSON; null in other states. */
  results: string | null;
  /** The settings, as JSON. */
  settings: string;
  opened_at: number | null;
  ends_at: number | null;
}

export interface OptionRow extends Omit<PollOption, "correct"> {
  /** Identifies the option in the table of votes; increases over time. */
  number: number;
  poll: number;
  votes: number;
  /** 1 for a right answer in a quiz. */
  correct: number;
}

/** The columns of a poll, except for its number, world and room. */
export const POLL_FIELDS = [
  "id",
  "content",
  "state",
  "poll_type",
  "is_pinned",
  "timestamp",
  "results",
  "settings",
  "opened_at",
  "ends_at",
] as const satisfies readonly (keyof PollRow)[];

export const POLL_COLUMNS = `p.number, p.room_id AS room, ${POLL_FIELDS.map((name) => `p.${name}`).join()}`;

/** The columns of an {@link OptionRow} in `poll_options AS o`, and the sort order of options. */
export const OPTION_COLUMNS =
  'o.number, o.id, o.poll, o.content, o.position AS "order", o.votes, o.correct';
export const BY_POSITION = "o.position, o.number";

/** Returns the vote counts of a poll's options, by id. */
export const votesIn = (options: readonly Pick<OptionRow, "id" | "votes">[]): Poll["results"] =>
  Object.fromEntries(options.map(({ id, votes }) => [id, votes]));

/** Builds a poll from its rows. @param options the poll's options, in order. */
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
  settings: JSON.parse(row.settings) as PollSettings,
  ...(row.ends_at !== null && { ends_at: row.ends_at }),
  options: options.map(({ id, content, order, correct }) => ({
    id,
    content,
    order,
    ...(row.poll_type === "quiz" && { correct: correct === 1 }),
  })),
  results:
    row.results === null
      ? countedIn(row.poll_type, options)
      : (JSON.parse(row.results) as Poll["results"]),
});

/** Returns the vote counts of a poll, which are empty if its kind has a summary. */
const countedIn = (
  type: Poll["poll_type"],
  options: readonly Pick<OptionRow, "id" | "votes">[],
): Poll["results"] => (hasCounts(type) ? votesIn(options) : {});

/** The approximate size of each poll and option in a list, excluding its text (`PollSelection.size`). */
export const POLL_OVERHEAD = 100;

// Writes to polls, shared by the engines.

interface NewPoll {
  row: Omit<PollRow, "number">;
  /** In the order in which the options will be numbered. */
  options: SavedOption[];
  poll: Poll;
}

/**
 * Builds a new poll, with new ids.
 * @throws {StoreError} `quota` on `options`; `denied` on `options` or on a setting.
 */
export function newPoll(
  room: string,
  { content, options, state = "draft", poll_type = "choice", settings, at }: PollDraft,
): NewPoll {
  const saved = newOptions(options);
  const shown = saved.map((option) => ({ ...option, votes: 0 })).sort((a, b) => a.order - b.order);
  const draft: Omit<PollRow, "number"> = {
    id: randomUUID(),
    room,
    content,
    state: "draft",
    poll_type,
    is_pinned: 0,
    timestamp: Date.now(),
    results: null,
    settings: JSON.stringify(settingsFor(poll_type, settings)),
    opened_at: null,
    ends_at: null,
  };
  expectFitting(poll_type, shown);
  const row = inState(draft, state, shown, at ?? Date.now());
  return { row, options: saved, poll: toPoll(row, shown) };
}

/** @throws {StoreError} `denied` on the setting. */
function settingsFor(
  type: Poll["poll_type"],
  sent: SentSettings = {},
  before?: PollSettings,
): PollSettings {
  const found = settingFault(type, sent);
  if (found) throw new StoreError("denied", found.fault, `settings.${found.name}`);
  return settingsOf(type, sent, before);
}

/** @throws {StoreError} `denied` on `options`. */
function expectFitting(
  type: Poll["poll_type"],
  options: readonly Pick<OptionRow, "correct">[],
): void {
  const fault = optionsFault(
    type,
    options.map(({ correct }) => ({ correct: correct === 1 })),
  );
  if (fault !== undefined) throw new StoreError("denied", fault, "options");
}

/**
 * Applies changes to a poll's row, freezing or unfreezing its results.
 * @param options the poll's options after the change, in order.
 * @param hasVotes whether the poll has any votes.
 * @throws {StoreError} `denied` on what the kind or the votes do not allow.
 */
export function changedPoll(
  row: PollRow,
  { content, state, poll_type, is_pinned, settings, at }: PollChanges,
  options: readonly OptionRow[],
  hasVotes: boolean,
): PollRow {
  const type = poll_type ?? row.poll_type;
  const isOther = type !== row.poll_type;
  if (isOther && hasVotes && !(isPlainKind(type) && isPlainKind(row.poll_type))) {
    throw new StoreError("denied", "A poll with votes keeps its kind.", "poll_type");
  }
  const before = isOther ? undefined : (JSON.parse(row.settings) as PollSettings);
  const after = settingsFor(type, settings, before);
  if (hasVotes && before && isRetuned(before, after)) {
    throw new StoreError("denied", "A poll with votes keeps its settings.", "settings");
  }
  expectFitting(type, options);
  const changed = {
    ...row,
    content: content ?? row.content,
    poll_type: type,
    is_pinned: Number(is_pinned ?? row.is_pinned),
    settings: JSON.stringify(after),
  };
  if (type === "quiz" && isRepeated(row, state ?? row.state, hasVotes)) {
    throw new StoreError("denied", "A quiz opens only once.", "state");
  }
  return inState(changed, state ?? row.state, options, at ?? Date.now());
}

/** Whether a change of its state would let people answer a quiz again. */
const isRepeated = (row: PollRow, state: Poll["state"], hasVotes: boolean): boolean =>
  !isOver({ state }) &&
  row.poll_type === "quiz" &&
  ((isOver(row) && row.opened_at !== null) ||
    (row.state === "open" && state === "draft" && hasVotes));

/**
 * Sets a poll's state, and with it the frozen results and the time of a quiz.
 * @param at the time, in milliseconds since 1970.
 */
function inState<R extends Omit<PollRow, "number">>(
  row: R,
  state: Poll["state"],
  options: readonly Pick<OptionRow, "id" | "votes">[],
  at: number,
): R {
  const changed = { ...row, state };
  if (isOver(changed) !== isOver(row)) {
    changed.results = isOver(changed) ? JSON.stringify(countedIn(row.poll_type, options)) : null;
  }
  if (row.poll_type !== "quiz") return { ...changed, opened_at: null, ends_at: null };
  const { seconds } = JSON.parse(row.settings) as PollSettings;
  // A quiz that is closed shows the right answers, even if it was never open. A poll of another kind
  // may be open when it becomes a quiz.
  if (state === "open" || state === "closed") {
    const isOpening = state === "open" && row.state !== "open";
    changed.opened_at = isOpening ? at : (row.opened_at ?? at);
  } else if (state === "draft") {
    changed.opened_at = null;
  }
  changed.ends_at =
    state === "open" && seconds !== undefined ? changed.opened_at! + 1000 * seconds : null;
  return changed;
}

/**
 * Whether a change opens a poll that is then announced in the room's chat. Only kinds that every
 * client can show are: the others must not learn of it.
 */
export const isAnnounced = (before: PollRow, after: PollRow): boolean =>
  before.state === "draft" && after.state === "open" && isPlainKind(after.poll_type);

/** Builds the event that announces an open poll in its room's chat. */
export const openingOf = (poll: string, sender: string) => ({
  type: POLL,
  sender,
  content: JSON.stringify({ poll_id: poll, state: "open" }),
});

export const severalChosen = () =>
  new StoreError("denied", "Some people have already chosen several options.", "poll_type");

/** The maximum value of an option's order. */
const HIGHEST = 2 ** 31 - 1;

/** An option to store. A new option has no number. */
export type SavedOption = Pick<OptionRow, "id" | "content" | "order" | "correct"> & {
  number?: number;
};

/** An option that may not have an order yet. */
type Unplaced = Omit<SavedOption, "order"> & { order: number | undefined };

export interface OptionPlan {
  kept: SavedOption[];
  removed: OptionRow[];
}

/** Builds the options of a new poll, with new ids. @throws {StoreError} `quota` on `options`. */
function newOptions(drafts: readonly OptionDraft[]): SavedOption[] {
  expectFew(drafts);
  return placed(
    drafts.map(({ content, order, correct = false }) => ({
      id: randomUUID(),
      content,
      order,
      correct: Number(correct),
    })),
  );
}

/**
 * Computes the changes to a poll's options.
 * @param present the poll's current options.
 * @throws {StoreError} `absent` on `option`, or `quota` on `options`.
 */
export function planOptions(
  present: readonly OptionRow[],
  asked: NonNullable<PollChanges["options"]>,
): OptionPlan {
  const left = new Map(present.map((option) => [option.id, option]));
  const kept = asked.map(({ id, content, order, correct }): Unplaced => {
    if (id === undefined) {
      if (content === undefined) throw absent("option");
      return { id: randomUUID(), content, order, correct: Number(correct ?? false) };
    }
    const option = left.get(id);
    // A repeated id is treated as absent.
    if (!option) throw absent("option");
    left.delete(id);
    return {
      id,
      number: option.number,
      content: content ?? option.content,
      order: order ?? option.order,
      correct: correct === undefined ? option.correct : Number(correct),
    };
  });
  expectFew(kept);
  return { kept: placed(kept), removed: [...left.values()] };
}

/**
 * Checks that a change of the options keeps what people voted for.
 * @param present the options of a ranking or a quiz with votes.
 * @throws {StoreError} `denied` on `options`.
 */
export function expectSameOptions(
  present: readonly OptionRow[],
  { kept, removed }: OptionPlan,
): void {
  const correct = new Map(present.map((option) => [option.number, option.correct]));
  const isSame = kept.every(
    (it) => it.number !== undefined && correct.get(it.number) === it.correct,
  );
  if (isSame && removed.length === 0) return;
  throw new StoreError("denied", "A poll with votes keeps its options.", "options");
}

/** @throws {StoreError} `quota` on `options`. */
function expectFew(options: readonly unknown[]): void {
  if (options.length > MAX_OPTIONS) {
    throw new StoreError("quota", `A poll may have at most ${MAX_OPTIONS} options.`, "options");
  }
}

/** Places the options without an order after all other options. */
function placed(options: readonly Unplaced[]): SavedOption[] {
  const orders = options.flatMap(({ order }) => order ?? []);
  let last = orders.length > 0 ? Math.max(...orders) : 0;
  return options.map((option) => ({
    ...option,
    order: option.order ?? (last = Math.min(last + 1, HIGHEST)),
  }));
}
