import type { ListedPoll, PollChanges } from "../../client/index.js";

/** How many options a poll may have. */
export const MIN_OPTIONS = 2;
export const MAX_OPTIONS = 100;

/** The longest text of a poll, in characters, by the server's default. */
export const MAX_TEXT = 10_000;

const ORDER = { open: 0, draft: 1, closed: 2, archived: 3 };

/** Sorts polls for a page: pinned, open, drafts, closed, archived; the newest first. */
export const sortPolls = (polls: readonly ListedPoll[]): ListedPoll[] =>
  polls
    .toReversed()
    .sort((a, b) => Number(b.is_pinned) - Number(a.is_pinned) || ORDER[a.state] - ORDER[b.state]);

/** An option as a page shows it. */
export interface Choice {
  readonly id: string;
  readonly content: string;
  readonly isChosen: boolean;
  /** How many users chose it; undefined for users who may not see results. */
  readonly votes?: number;
  /** Their share of all votes, in whole percent. */
  readonly percent?: number;
}

/** The options of a poll, and how many votes there are; undefined without results. */
export interface Result {
  readonly choices: readonly Choice[];
  /** Whether several options may be chosen. */
  readonly isMulti: boolean;
  readonly total?: number;
}

/**
 * A poll as a page shows it.
 * @param want the options of a vote that the server has not confirmed yet; none for a
 *   withdrawal, undefined without a pending vote.
 */
export function resultOf(poll: ListedPoll, want?: readonly string[]): Result {
  const { results, options, answers = [], poll_type } = poll;
  const isMulti = poll_type === "multi";
  const isChosen = (id: string) => (want ?? answers).includes(id);
  if (!results) {
    const choices = options.map(({ id, content }) => ({ id, content, isChosen: isChosen(id) }));
    return { choices, isMulti };
  }
  const counts: Record<string, number> = Array.isArray(results) ? {} : results;
  const votesOf = (id: string) => counts[id] ?? 0;
  const total = options.reduce((sum, { id }) => sum + votesOf(id), 0);
  const choices = options.map(({ id, content }) => ({
    id,
    content,
    isChosen: isChosen(id),
    votes: votesOf(id),
    percent: total === 0 ? 0 : Math.round((votesOf(id) / total) * 100),
  }));
  return { choices, isMulti, total };
}

/** The vote of a user who presses an option: it alone, or with the others of several. */
export function voteWith({ choices, isMulti }: Result, option: string): string[] {
  if (!isMulti) return [option];
  return choices.filter(({ id, isChosen }) => isChosen !== (id === option)).map(({ id }) => id);
}

/** A poll that the user is writing. */
export interface Sketch {
  readonly content: string;
  /** An option that the poll has already keeps its id, and so its votes. */
  readonly options: readonly {
    readonly id?: string;
    readonly content: string;
  }[];
  /** Whether several options may be chosen. */
  readonly isMulti: boolean;
}

/** An empty sketch. */
export const emptySketch: Sketch = {
  content: "",
  options: [{ content: "" }, { content: "" }],
  isMulti: false,
};

/** A poll that is to be changed. */
export const sketchOf = ({ content, options, poll_type }: ListedPoll): Sketch => ({
  content,
  isMulti: poll_type === "multi",
  options: options.map(({ id, content }) => ({ id, content })),
});

/** A stored sketch; undefined if it is invalid. */
export function readSketch(value: unknown): Sketch | undefined {
  const { content, options, isMulti } = (value ?? {}) as Record<string, unknown>;
  if (typeof content !== "string" || !Array.isArray(options)) return undefined;
  const texts = options
    .map((option: unknown) => (option as { content?: unknown } | null)?.content)
    .filter((text) => typeof text === "string")
    .slice(0, MAX_OPTIONS);
  if (texts.length < MIN_OPTIONS) return undefined;
  return { content, options: texts.map((content) => ({ content })), isMulti: isMulti === true };
}

/** The fault of a sketch. */
export type Fault = "content" | "options" | "long";

/** Why a sketch is no poll yet; undefined if it is one. Empty options are left out. */
export function faultOf({ content, options }: Sketch): Fault | undefined {
  const texts = options.map(({ content }) => content.trim());
  if (content.trim() === "") return "content";
  if (texts.filter((text) => text !== "").length < MIN_OPTIONS) return "options";
  return [content, ...texts].some((text) => text.length > MAX_TEXT) ? "long" : undefined;
}

/** A sketch in the server's form. */
export const contentOf = ({ content, options, isMulti }: Sketch) => ({
  content: content.trim(),
  poll_type: isMulti ? ("multi" as const) : ("choice" as const),
  options: options
    .map((option) => ({ ...option, content: option.content.trim() }))
    .filter(({ content }) => content !== "")
    .map((option, order) => ({ ...option, order })),
});

/** The changes of a sketch to a poll; undefined without any. */
export function changesOf(poll: ListedPoll, sketch: Sketch): PollChanges | undefined {
  const { content, options, poll_type } = contentOf(sketch);
  const isOfType = poll_type === (poll.poll_type ?? "choice");
  const isSame =
    options.length === poll.options.length &&
    options.every(
      ({ id, content }, at) => id === poll.options[at]?.id && content === poll.options[at]?.content,
    );
  if (isSame && isOfType && content === poll.content) return undefined;
  return {
    ...(!isOfType && { poll_type }),
    ...(content !== poll.content && { content }),
    ...(!isSame && { options }),
  };
}

/** A list with an entry moved to another place; the same if there is no such place. */
export function moved<T>(list: readonly T[], from: number, to: number): readonly T[] {
  if (to < 0 || to >= list.length) return list;
  const others = list.toSpliced(from, 1);
  return others.toSpliced(to, 0, list[from]!);
}
