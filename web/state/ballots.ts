import type { Commands, ListedPoll, PollVote } from "../../client/index.js";
import { foldText } from "../../schemas/plain/folding.js";
import { type PollSummary, summaryIn } from "../../schemas/plain/polls.js";
import { lineName, type Named } from "./profile.js";

// Votes and results of polls that are not counted per option: words, texts, scales and rankings.

/** Returns the vote that withdraws a user's earlier vote. */
export const noBallot = ({ poll_type }: ListedPoll): PollVote =>
  poll_type === "words" || poll_type === "text"
    ? { answers: [] }
    : poll_type === "scale"
      ? { value: null }
      : { options: [] };

/**
 * Returns the user's vote in a poll; empty if there is none.
 * @param want a vote that the server has not confirmed yet.
 */
export function ownIn(poll: ListedPoll, want?: PollVote) {
  const { answers = [], value } = poll;
  const isText = poll.poll_type === "words" || poll.poll_type === "text";
  return {
    options: want?.options ?? (isText ? [] : answers),
    answers: want?.answers ?? (isText ? answers : []),
    value: want?.value === undefined ? value : (want.value ?? undefined),
  };
}

/** A word in a word cloud. */
export interface Word {
  /** The folded text, which identifies the word. */
  readonly key: string;
  readonly text: string;
  readonly count: number;
}

/**
 * Returns the keys of a cloud's words in display order. Existing words keep their order; new words
 * are added at both ends, so that the first, most frequent words stay in the middle.
 * @param before the previous order.
 */
export function arranged(words: readonly Word[], before: readonly string[]): string[] {
  const keys = new Set(words.map(({ key }) => key));
  const order = before.filter((key) => keys.has(key));
  for (const key of order) keys.delete(key);
  let isFirst = order.length % 2 === 1;
  for (const key of keys) {
    if (isFirst) order.unshift(key);
    else order.push(key);
    isFirst = !isFirst;
  }
  return order;
}

/** A word's font size in a cloud, in pixels, and its ratio to the most frequent word's size. */
interface WordSize {
  readonly size: number;
  readonly share: number;
}

/**
 * The width of a character relative to the font size: for letters in general, and for East Asian
 * scripts.
 */
const LETTER = 0.6;
const WIDE = 1.05;
/** The space around a word, relative to its font size. */
const GAP = 0.7;
const LINE = 1.2;
/** The smallest font size, in pixels, and the largest as a multiple of it. */
const SMALLEST = 15;
const LARGEST_RATIO = 2.6;
/** The factors by which a cloud shrinks until it fits. */
const STEP = 0.95;

const widthOf = (text: string) =>
  GAP + [...text].reduce((sum, it) => sum + (it > "\u2e80" ? WIDE : LETTER), 0);

/**
 * Returns the sizes of a cloud's words by key.
 * @param words in display order.
 * @param box the width of the cloud, in pixels, and its height if the words are to fill it.
 */
export function sizesOf(
  words: readonly Word[],
  { width, height }: { width: number; height?: number | undefined },
): Map<string, WordSize> {
  const counts = words.map(({ count }) => count);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const measured = words.map(({ key, text, count }) => ({
    key,
    width: widthOf(text),
    share: most === least ? 0.5 : Math.sqrt((count - least) / (most - least)),
  }));
  const sizesAt = (base: number) =>
    measured.map(({ key, width: wide, share }) => {
      // No word may be wider than the cloud.
      const fitting = Math.max(SMALLEST, width / wide);
      return {
        key,
        wide,
        share,
        size: Math.min(base * (1 + (LARGEST_RATIO - 1) * share), fitting),
      };
    });
  const heightAt = (base: number) => {
    let [total, line, left] = [0, 0, 0];
    for (const { wide, size } of sizesAt(base)) {
      if (wide * size > left) {
        total += line;
        [line, left] = [0, width];
      }
      left -= wide * size;
      line = Math.max(line, size * LINE);
    }
    return total + line;
  };
  let base = SMALLEST;
  if (height !== undefined) {
    base = Math.max(SMALLEST, height / 6);
    while (base > SMALLEST && heightAt(base) > height) base = Math.max(SMALLEST, base * STEP);
  }
  return new Map(sizesAt(base).map(({ key, size, share }) => [key, { size, share }]));
}

/** A text answer, or a word in the managers' list. */
export interface TextAnswer {
  /** The id of a text, or the folded text of a word. */
  readonly key: string;
  readonly text: string;
  /** The author, if the user may see who it is. */
  readonly name?: string | undefined;
  /** The number of people who wrote it. */
  readonly count?: number;
  readonly isHidden: boolean;
  /** Whether it waits for a manager. */
  readonly isHeld: boolean;
}

/** The distribution of a scale's votes. */
export interface ScaleResult {
  readonly counts: readonly { readonly value: number; readonly count: number }[];
  /** Undefined without votes. */
  readonly average: number | undefined;
}

/** An option of a ranking. */
export interface Ranked {
  readonly id: string;
  readonly content: string;
  readonly points: number;
  /** The rank, from 1. Options with equal points share a rank. */
  readonly place: number;
}

/** Returns a ranking's options by points, highest first. */
export function rankedOf(
  options: readonly { readonly id: string; readonly content: string }[],
  scores: Readonly<Record<string, number>>,
): Ranked[] {
  const pointed = options
    .map(({ id, content }) => ({ id, content, points: scores[id] ?? 0 }))
    .sort((a, b) => b.points - a.points);
  return pointed.map((it) => ({
    ...it,
    place: 1 + pointed.filter(({ points }) => points > it.points).length,
  }));
}

type SummaryWith<F extends string> = Extract<PollSummary, Record<F, unknown>>;

/** Returns a poll's summary if it has a field, such as `words`. */
function summaryWith<F extends string>({ results }: ListedPoll, field: F) {
  const summary = summaryIn(results);
  return summary && field in summary ? (summary as SummaryWith<F>) : undefined;
}

/** Returns the number of participants in a poll that has a summary, if the user may see it. */
export const turnoutOf = ({ results }: ListedPoll): number | undefined =>
  summaryIn(results)?.people;

/** Returns the words that everybody sees. */
export const wordsOf = (poll: ListedPoll): Word[] | undefined =>
  summaryWith(poll, "words")?.words.flatMap(({ text, count, hidden }) =>
    hidden ? [] : [{ key: foldText(text), text, count }],
  );

/** Returns all words, including hidden ones, for managers. */
export const wordListOf = (poll: ListedPoll): TextAnswer[] =>
  (summaryWith(poll, "words")?.words ?? []).map(({ text, count, hidden = false }) => ({
    ...{ key: foldText(text), text, count },
    isHidden: hidden,
    isHeld: false,
  }));

/**
 * Returns the texts, newest first. Texts that wait for a manager come before all others.
 * @param nameOf returns a user's name, which only managers see.
 */
export function textsOf(
  poll: ListedPoll,
  nameOf: (user: string) => string | undefined,
): TextAnswer[] | undefined {
  return summaryWith(poll, "answers")
    ?.answers.map(({ id, text, user, hidden = false, held = false }) => ({
      ...{ key: id, text },
      name: user === undefined ? undefined : nameOf(user),
      isHidden: hidden,
      isHeld: held,
    }))
    .sort((a, b) => Number(b.isHeld) - Number(a.isHeld));
}

/** Returns the texts that everybody sees, without their authors. */
export const shownTextsOf = (poll: ListedPoll): TextAnswer[] | undefined =>
  textsOf(poll, () => undefined)?.filter(({ isHidden, isHeld }) => !isHidden && !isHeld);

/** Returns the ids of the authors of texts, which only managers see. */
export const authorsOf = (poll: ListedPoll): string[] =>
  summaryWith(poll, "answers")?.answers.flatMap(({ user }) => user ?? []) ?? [];

/** Returns the values of a scale. */
export function valuesOf({ settings: { min = 1, max = 5 } = {} }: ListedPoll): number[] {
  return Array.from({ length: max - min + 1 }, (_, at) => min + at);
}

export function scaleOf(poll: ListedPoll): ScaleResult | undefined {
  const summary = summaryWith(poll, "average");
  if (!summary) return undefined;
  const { counts, average } = summary;
  return {
    counts: valuesOf(poll).map((value) => ({ value, count: counts[value] ?? 0 })),
    average: average ?? undefined,
  };
}

export function rankingOf(poll: ListedPoll): Ranked[] | undefined {
  const summary = summaryWith(poll, "scores");
  return summary && rankedOf(poll.options, summary.scores);
}

/** A player of a room's quizzes. */
export interface Player {
  readonly key: number;
  /** Undefined for people without a name. */
  readonly user: Named | undefined;
  readonly name: string;
  /** The rank, from 1. Equal players share a rank. */
  readonly place: number;
  readonly points: number;
  readonly seconds: number;
}

/** The best players of a room, as the server sends them. */
export type Leaderboard = Commands["poll.leaderboard"]["result"];

/** The best players of a room. */
export interface Board {
  readonly players: readonly Player[];
  readonly me?: { readonly place: number; readonly points: number } | undefined;
}

/** @param otherwise the name of players who have none. */
export function boardOf({ players, me }: Leaderboard, otherwise: string): Board {
  return {
    me,
    players: players.map(({ user, points, seconds }, key) => ({
      ...{ key, points, seconds },
      user: "id" in user ? user : undefined,
      name: "id" in user ? lineName(user, otherwise) : user.name,
      place: 1 + players.findIndex((it) => it.points === points && it.seconds === seconds),
    })),
  };
}
