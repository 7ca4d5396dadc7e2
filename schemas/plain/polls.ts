// The kinds of polls, their settings and their results.

/** The kinds of polls that every client supports. */
export const PLAIN_KINDS = ["choice", "multi"] as const;

export const POLL_KINDS = [...PLAIN_KINDS, "words", "text", "scale", "rank", "quiz"] as const;

/**
 * What people do in a poll: choose one option or several, name words, write texts, rate on a scale,
 * rank the options, or choose the correct option in time.
 */
export type PollType = (typeof POLL_KINDS)[number];

/** Whether every client supports polls of this kind. */
export const isPlainKind = (type: string): boolean =>
  (PLAIN_KINDS as readonly string[]).includes(type);

/** A poll's settings. Which of them apply depends on its kind. */
export interface PollSettings {
  /** Maximum number of words or texts per person. */
  answers?: number;
  /** The maximum length of a word or text, in characters. */
  length?: number;
  /** Whether a manager must approve each text before others see it. */
  hold?: boolean;
  /** The lowest and the highest value of a scale. */
  min?: number;
  max?: number;
  /** The labels of the lowest and the highest value. */
  min_label?: string;
  max_label?: string;
  /** How long a quiz stays open. */
  seconds?: number;
}

/** Settings in a command. Null resets an optional setting. */
export type SentSettings = { [K in keyof PollSettings]?: PollSettings[K] | null };

/** The bounds of the numeric settings. */
interface Range {
  readonly least: number;
  readonly most: number;
  readonly usual?: number;
}

type NumberName = "answers" | "length" | "min" | "max" | "seconds";

export const NUMBERS: Readonly<Record<PollType, Partial<Record<NumberName, Range>>>> = {
  choice: {},
  multi: {},
  words: {
    answers: { least: 1, most: 5, usual: 3 },
    length: { least: 1, most: 40, usual: 25 },
  },
  text: {
    answers: { least: 1, most: 5, usual: 1 },
    length: { least: 1, most: 500, usual: 250 },
  },
  scale: { min: { least: 0, most: 1, usual: 1 }, max: { least: 2, most: 10, usual: 5 } },
  rank: {},
  quiz: { seconds: { least: 5, most: 300 } },
};

/** Maximum length of a scale's labels, in characters. */
export const MAX_LABEL = 100;

/** The settings that only affect labels. They may change even if a poll has votes. */
const TEXT_SETTINGS = ["min_label", "max_label"] as const;

const isText = (name: string): name is (typeof TEXT_SETTINGS)[number] =>
  (TEXT_SETTINGS as readonly string[]).includes(name);

/** Whether people vote for options in polls of this kind. */
export const hasOptions = (type: PollType): boolean =>
  type !== "words" && type !== "text" && type !== "scale";

/** Whether the results of polls of this kind are counts per option. */
export const hasCounts = (type: PollType): boolean => hasOptions(type) && type !== "rank";

/** Minimum and maximum number of options to rank. */
export const RANKED = { least: 2, most: 20 } as const;

/** Returns whether polls of a kind have a setting. */
const has = (type: PollType, name: string): boolean =>
  name in NUMBERS[type] ||
  (type === "text" && name === "hold") ||
  (type === "scale" && isText(name));

/**
 * Checks the settings in a command.
 * @returns the first fault, with the name of the setting; undefined if there is none.
 */
export function settingFault(
  type: PollType,
  sent: SentSettings,
): { name: string; fault: string } | undefined {
  for (const [name, value] of Object.entries(sent)) {
    if (value === undefined || value === null) continue;
    if (!has(type, name)) return { name, fault: `Polls of the kind ${type} have no such setting.` };
    const range = NUMBERS[type][name as NumberName];
    if (!range) continue;
    const { least, most } = range;
    if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) {
      return { name, fault: `Must be a whole number from ${least} to ${most}.` };
    }
  }
  return undefined;
}

/**
 * Returns a poll's settings after a change.
 * @param sent settings without a {@link settingFault}.
 * @param before the previous settings, of the same kind.
 */
export function settingsOf(
  type: PollType,
  sent: SentSettings = {},
  before: PollSettings = {},
): PollSettings {
  const set = (name: keyof PollSettings) => (sent[name] === undefined ? before[name] : sent[name]);
  const settings: Record<string, unknown> = {};
  for (const [name, { usual }] of Object.entries(NUMBERS[type])) {
    const value = set(name as NumberName) ?? usual;
    if (value !== undefined) settings[name] = value;
  }
  if (type === "text") settings.hold = set("hold") ?? false;
  if (type === "scale") {
    for (const name of TEXT_SETTINGS) if (set(name)) settings[name] = set(name);
  }
  return settings;
}

/** Whether two settings differ in more than texts. */
export const isRetuned = (before: PollSettings, after: PollSettings): boolean => {
  const names = Object.keys({ ...before, ...after }) as (keyof PollSettings)[];
  return names.some((name) => !isText(name) && before[name] !== after[name]);
};

/**
 * Checks that a poll has options that fit its kind.
 * @returns the fault, as a sentence; undefined if there is none.
 */
export function optionsFault(
  type: PollType,
  options: readonly { readonly correct: boolean }[],
): string | undefined {
  const right = options.filter(({ correct }) => correct).length;
  if (!hasOptions(type) && options.length > 0) return `Polls of the kind ${type} have no options.`;
  if (type !== "quiz" && right > 0) return "Only options of a quiz can be correct.";
  if (type === "quiz" && right === 0) return "At least one option must be correct.";
  const { least, most } = RANKED;
  return type === "rank" && (options.length < least || options.length > most)
    ? `Must be ${least} to ${most} options to rank.`
    : undefined;
}

/** A word of a cloud, in its most frequent spelling. */
export interface CountedWord {
  text: string;
  /** How many people named it, in any spelling. */
  count: number;
  /** Sent to managers: the word is hidden from everybody else. */
  hidden?: boolean;
}

/** A text that somebody wrote. */
export interface WrittenAnswer {
  id: string;
  text: string;
  /** The id of the author. Sent to managers, unless the room's polls are anonymous. */
  user?: string;
  at: string;
  /** Sent to managers: the text is hidden from everybody else. */
  hidden?: boolean;
  /** Sent to managers: nobody has decided about the text yet. */
  held?: boolean;
}

interface Turnout {
  /** How many people take part. */
  people: number;
}

/** The most frequent words first. `more` means that there are others. */
export interface WordResults extends Turnout {
  words: CountedWord[];
  more?: boolean;
}

/** The newest texts first. `more` means that there are others. */
export interface TextResults extends Turnout {
  answers: WrittenAnswer[];
  more?: boolean;
}

/** How many people chose each value, and their average; null without any. */
export interface ScaleResults extends Turnout {
  counts: Record<string, number>;
  average: number | null;
}

/** The points of each option: of n options, the first gets n points, the second n − 1. */
export interface RankResults extends Turnout {
  scores: Record<string, number>;
}

/** The results of a kind of poll that is not counted by option. */
export type PollSummary = WordResults | TextResults | ScaleResults | RankResults;

/** The results of a poll on the websocket: votes by option, none, or a summary. */
export type PollResults = Record<string, number> | readonly never[] | PollSummary;

/** Returns the summary among results of a poll, or undefined for other results. */
export const summaryIn = (results: PollResults | undefined): PollSummary | undefined =>
  results && !Array.isArray(results) && "people" in results && typeof results.people === "number"
    ? (results as PollSummary)
    : undefined;

/** Returns the votes by option among results of a poll; empty for other results. */
export const countsIn = (results: PollResults | undefined): Readonly<Record<string, number>> =>
  results && !Array.isArray(results) && !summaryIn(results)
    ? (results as Record<string, number>)
    : {};

const encoder = new TextEncoder();

/**
 * Returns a summary with its first words or texts, which take at most so many bytes of JSON. If
 * that leaves some out, it has `more`.
 */
export function cutSummary(summary: PollSummary, size: number): PollSummary {
  if ("words" in summary) return { ...summary, ...firstOf("words", summary.words, size) };
  return "answers" in summary
    ? { ...summary, ...firstOf("answers", summary.answers, size) }
    : summary;
}

function firstOf<N extends string, T>(
  name: N,
  items: readonly T[],
  size: number,
): Record<N, T[]> & { more?: true } {
  let left = size;
  const isOver = (item: T) => (left -= encoder.encode(JSON.stringify(item)).length + 1) < 0;
  const end = items.findIndex(isOver);
  const first = { [name]: end === -1 ? [...items] : items.slice(0, end) } as Record<N, T[]>;
  return { ...first, ...(end !== -1 && { more: true as const }) };
}
