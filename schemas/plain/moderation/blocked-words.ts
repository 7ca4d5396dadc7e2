import { foldText, UNSPACED } from "../folding.js";

/**
 * What happens to a text that contains a blocked word: a moderator decides, or the text is refused.
 */
export const blockedWordActions = ["hold", "refuse"] as const;
export type BlockedWordAction = (typeof blockedWordActions)[number];

/** Maximum number of blocked words. */
export const MAX_BLOCKED_WORDS = 1_000;

/** The setting `config.blocked_words` of a world. */
export interface BlockedWords {
  /** Words or phrases. `*` matches any number of letters and digits. */
  readonly words: readonly string[];
  readonly action: BlockedWordAction;
}

/** Matches a letter or a digit. A blocked word without any would match nothing, or everything. */
const SIGNIFICANT = /[\p{L}\p{N}]/u;

/** Returns the faults of the setting that its schema cannot express, by the path of the word. */
export function blockedWordFaults(
  { words }: Pick<BlockedWords, "words">,
  setting = "blocked_words",
): Record<string, string[]> {
  const faults: Record<string, string[]> = {};
  for (const [i, word] of words.entries()) {
    if (!SIGNIFICANT.test(word)) {
      faults[`${setting}.words.${i}`] = ["Must have a letter or a digit."];
    }
  }
  return faults;
}

/**
 * Returns the setting.
 * @param config the settings of a world, of which imported documents may have any value.
 */
export function blockedWordsIn({ blocked_words }: Readonly<Record<string, unknown>>) {
  const { words, action } = (blocked_words ?? {}) as Record<string, unknown>;
  return {
    words: Array.isArray(words) ? words.filter((word) => typeof word === "string") : [],
    action: action === "refuse" ? ("refuse" as const) : ("hold" as const),
  };
}

/** A blocked word or phrase, split into the folded words that must follow one another. */
interface Pattern {
  /** The parts of each word, with any letters between them. */
  readonly words: readonly (readonly string[])[];
  /** The words with a space between them, if none has a wildcard. */
  readonly literal: string | undefined;
  /** The longest part. Few texts contain it, so most texts need no further checks. */
  readonly longest: string;
  /** Minimum number of letters in the first word. */
  readonly letters: number;
}

const WORD = new RegExp(`[${UNSPACED}]|(?:(?![${UNSPACED}])[\\p{L}\\p{N}])+`, "gu");
const WORD_WITH_WILDCARDS = new RegExp(`[${UNSPACED}]|(?:(?![${UNSPACED}])[\\p{L}\\p{N}*])+`, "gu");

function patternOf(word: string): Pattern {
  const words = (foldText(word).match(WORD_WITH_WILDCARDS) ?? [])
    .map((one) => one.split("*"))
    .filter((parts) => parts.some((part) => part !== ""));
  const longest = words
    .flat()
    .reduce((long, part) => (part.length > long.length ? part : long), "");
  const literal = words.every(({ length }) => length === 1) ? between(words.flat()) : undefined;
  return { words, literal, longest, letters: words[0]?.join("").length ?? 0 };
}

/** Returns words with a space before and after each of them. */
const between = (words: readonly string[]): string => ` ${words.join(" ")} `;

/** Whether a word consists of these parts, in order, with anything between them. */
function isMatch(parts: readonly string[], word: string): boolean {
  const [first = "", ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return word === first;
  if (!word.startsWith(first)) return false;
  let from = first.length;
  for (const part of rest) {
    const at = word.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return word.length - last.length >= from && word.endsWith(last);
}

/** Marks that pages turn into bold, struck or fixed text even inside words, or links and their addresses. */
const MARKS = /[*`[]|~~|\](?:\([^()[\]]*\))?/g;

/** A character as a number, a Latin letter with a mark or in a style, or another name. */
const ENTITY =
  /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z])(?:acute|grave|circ|uml|tilde|ring|cedil|caron|breve|macr|ogon|dot|strok|slash|scr|fr|opf)|([a-z]{2,31}));/gi;

/** Named entities that pages show as nothing. Others are signs, which end a word. */
const INVISIBLE =
  /^(?:shy|zwn?j|[lr]rm|zerowidth|negative|nobreak|invisible|i[ct]$|af$|applyfunction)/i;

/** Returns a text as pages show it, if it has Markdown or HTML entities inside words. */
const withoutMarkup = (text: string): string =>
  text
    .replace(ENTITY, (_, decimal?: string, hex?: string, letter?: string, name?: string) => {
      const code = decimal ? Number(decimal) : hex ? parseInt(hex, 16) : undefined;
      if (code !== undefined) return code <= 0x10ffff ? String.fromCodePoint(code) : "";
      return letter ?? (name && !INVISIBLE.test(name) ? " " : "");
    })
    .replace(MARKS, "");

/** A text to look at, folded. */
interface Looked {
  readonly folded: string;
  readonly spaced: string;
  /** The numbers of its words, in order, and the number assigned to each distinct word. */
  readonly words: readonly number[];
  readonly numbers: ReadonlyMap<string, number>;
}

function lookedAt(text: string): Looked {
  const folded = foldText(text);
  const found = folded.match(WORD) ?? [];
  const numbers = new Map<string, number>();
  for (const word of found) if (!numbers.has(word)) numbers.set(word, numbers.size);
  return {
    folded,
    spaced: between(found),
    words: found.map((word) => numbers.get(word)!),
    numbers,
  };
}

/**
 * Maximum number of words in a phrase with wildcards. A setting of 64 characters cannot contain
 * more.
 */
const MAX_WORDS = 32;

/**
 * Whether a text contains a phrase, in a single pass over the text. Each bit represents a word of
 * the phrase. Users choose the texts and the lists, so no input may make this expensive.
 */
function hasPhrase({ words, letters }: Pattern, text: Looked): boolean {
  if (words.length > MAX_WORDS) return false;
  const matching = new Int32Array(text.numbers.size);
  for (const [i, parts] of words.entries()) {
    let isFound = false;
    for (const [word, number] of text.numbers) {
      if ((i === 0 && word.length < letters) || !isMatch(parts, word)) continue;
      matching[number]! |= 1 << i;
      isFound = true;
    }
    if (!isFound) return false;
  }
  const last = 1 << (words.length - 1);
  let begun = 0;
  return text.words.some((number) => {
    begun = ((begun << 1) | 1) & matching[number]!;
    return (begun & last) !== 0;
  });
}

const isIn = (pattern: Pattern, text: Looked): boolean =>
  pattern.longest !== "" &&
  text.folded.includes(pattern.longest) &&
  (pattern.literal === undefined
    ? hasPhrase(pattern, text)
    : text.spaced.includes(pattern.literal));

const patterns = new WeakMap<readonly unknown[], readonly Pattern[]>();

/**
 * Returns what happens to a text that contains a blocked word; undefined if it contains none.
 * @param config the settings of a world. In imported documents, they may have any value.
 */
export function blockedWordAction(
  config: Readonly<Record<string, unknown>>,
  texts: readonly string[],
): BlockedWordAction | undefined {
  const { words, action } = (config.blocked_words ?? {}) as Record<string, unknown>;
  if (!Array.isArray(words)) return undefined;
  let all = patterns.get(words);
  if (!all) {
    all = words.filter((word) => typeof word === "string").map(patternOf);
    patterns.set(words, all);
  }
  const hasOne = texts.some((text) =>
    [...new Set([text, withoutMarkup(text)])].some((form) => {
      const looked = lookedAt(form);
      return all.some((pattern) => isIn(pattern, looked));
    }),
  );
  return hasOne ? (action === "hold" ? "hold" : "refuse") : undefined;
}

/** The display name for people whose token contains a name with a blocked word. */
const GUEST = "Guest";

/** Whether a profile's display name contains a blocked word. */
export const hasBlockedName = (
  config: Readonly<Record<string, unknown>>,
  { display_name: name }: Readonly<Record<string, unknown>>,
): boolean => typeof name === "string" && blockedWordAction(config, [name]) !== undefined;

/** Returns the profile in a token, with "Guest" in place of a name that contains a blocked word. */
export const allowedProfile = <P extends Record<string, unknown> | undefined>(
  config: Readonly<Record<string, unknown>>,
  profile: P,
): P =>
  profile && hasBlockedName(config, profile) ? { ...profile, display_name: GUEST } : profile;
