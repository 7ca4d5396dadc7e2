import { foldText } from "../../schemas/plain/folding.js";
import { hasOptions, type PollSettings } from "../../schemas/plain/polls.js";
import { lengthOf } from "../../schemas/plain/texts.js";
import type { Ballot, Poll, PollVote } from "../contract/poll-store.js";
import { StoreError } from "../contract/store.js";
import type { OptionRow, PollRow } from "./poll-rows.js";

// The meaning of a vote in each kind of poll. Shared by the engines.

/** A word or a text in a ballot. */
export interface Written {
  readonly content: string;
  /** The normalized form under which a word is counted; empty for texts. */
  readonly folded: string;
}

/** A user's ballot: the options, the value, or the answers. */
export interface Cast {
  /** The numbers of the options, in order. */
  readonly options: readonly number[];
  readonly value: number | null;
  readonly answers: readonly Written[];
}

/** Whether a ballot contains a vote. */
export const hasVote = ({ options, value, answers }: Cast): boolean =>
  options.length > 0 || value !== null || answers.length > 0;

/** Whether two ballots are equal. */
export const isSameCast = (before: Cast, after: Cast): boolean =>
  before.value === after.value &&
  before.options.join() === after.options.join() &&
  JSON.stringify(before.answers.map(({ content }) => content)) ===
    JSON.stringify(after.answers.map(({ content }) => content));

/**
 * Returns a user's ballot after a vote.
 * @param options the poll's options, in order.
 * @param before the user's previous ballot.
 * @throws {StoreError} `denied` on `poll`.
 */
export function castIn(
  row: Pick<PollRow, "state" | "poll_type" | "settings" | "ends_at">,
  options: readonly OptionRow[],
  vote: PollVote,
  before: Cast,
): Cast {
  const { poll_type: type } = row;
  if (row.state !== "open") throw refused("The poll is not open.");
  const field = hasOptions(type) ? "options" : type === "scale" ? "value" : "answers";
  for (const name of ["options", "value", "answers"] as const) {
    if ((vote[name] === undefined) === (name === field)) {
      throw refused(`A vote in this poll has ${field}, and nothing else.`);
    }
  }
  const settings = JSON.parse(row.settings) as PollSettings;
  const none: Cast = { options: [], value: null, answers: [] };
  switch (type) {
    case "scale":
      return { ...none, value: valueIn(settings, vote.value!) };
    case "words":
    case "text":
      return { ...none, answers: answersIn(type, settings, vote.answers!) };
    case "rank":
      return { ...none, options: rankedIn(options, vote.options!) };
    case "quiz":
      if ((vote.at ?? Date.now()) >= (row.ends_at ?? Infinity)) throw refused("The time is over.");
      if (before.options.length > 0) throw refused("A quiz accepts one answer.");
      return { ...none, options: [answerIn(options, vote.options!)] };
    default:
      return { ...none, options: chosenIn(type, options, vote.options!, before) };
  }
}

/**
 * Only an empty list withdraws a vote: a list with unknown options only leaves the vote unchanged.
 */
function chosenIn(
  type: Poll["poll_type"],
  options: readonly OptionRow[],
  ids: readonly string[],
  before: Cast,
): readonly number[] {
  const named = new Set(ids);
  const chosen = options.filter(({ id }) => named.has(id)).map(({ number }) => number);
  if (type === "choice" && chosen.length > 1) throw refused("The poll accepts only one option.");
  return ids.length > 0 && chosen.length === 0 ? before.options : chosen;
}

function rankedIn(options: readonly OptionRow[], ids: readonly string[]): number[] {
  const numbers = new Map(options.map(({ id, number }) => [id, number]));
  return ids.map((id) => {
    const number = numbers.get(id);
    if (number === undefined) throw refused("The poll has each option once, and no others.");
    numbers.delete(id);
    return number;
  });
}

function answerIn(options: readonly OptionRow[], ids: readonly string[]): number {
  const option = options.find(({ id }) => id === ids[0]);
  if (ids.length !== 1 || !option) throw refused("A quiz accepts one of its options.");
  return option.number;
}

function valueIn({ min = 1, max = 5 }: PollSettings, value: number | null): number | null {
  if (value === null || (Number.isInteger(value) && value >= min && value <= max)) return value;
  throw refused(`The value must be a whole number from ${min} to ${max}.`);
}

/** Words are compared ignoring case and accents, and a repeated text counts once. */
function answersIn(
  type: "words" | "text",
  { answers: most = 1, length = 1 }: PollSettings,
  answers: readonly string[],
): Written[] {
  if (answers.length > most) throw refused(`The poll accepts ${most} answers.`);
  const written = new Map<string, Written>();
  for (const answer of answers) {
    const content = type === "words" ? answer.trim().replace(/\s+/g, " ") : answer.trim();
    const folded = foldText(content);
    if (folded.trim() === "") throw refused("An answer is empty.");
    if (lengthOf(content) > length) {
      throw refused(`An answer must be at most ${length} characters.`);
    }
    const key = type === "words" ? folded : content;
    if (!written.has(key)) written.set(key, { content, folded: type === "words" ? folded : "" });
  }
  return [...written.values()];
}

/** Returns the normalized form under which a word is counted, from any of its spellings. */
export const countedAs = (word: string): string => foldText(word.trim().replace(/\s+/g, " "));

const refused = (reason: string) => new StoreError("denied", reason, "poll");

/** A row of a user's vote: an option, a value or an answer. */
export interface VoteLine {
  readonly poll: string;
  readonly option: string | null;
  readonly value: number | null;
  readonly answer: string | null;
}

/**
 * Groups rows of votes into ballots.
 * @param lines ordered by poll, and within each ballot.
 */
export function ballotsIn(lines: Iterable<VoteLine>): Ballot[] {
  const ballots = new Map<string, Ballot>();
  for (const { poll, option, value, answer } of lines) {
    const ballot = ballots.get(poll) ?? { poll, options: [] };
    ballots.set(poll, ballot);
    if (option !== null) ballot.options.push(option);
    if (value !== null) ballot.value = value;
    if (answer !== null) (ballot.answers ??= []).push(answer);
  }
  return [...ballots.values()];
}
