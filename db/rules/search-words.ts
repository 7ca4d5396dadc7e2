import { foldCase } from "./rows.js";

// Both engines index the same words, which are cut and folded here, so that they find the same
// messages. An index of words is ordered, and every word begins with its channel: the words of a
// channel that begin with something are one range, however many messages other channels have.

/** Scripts that put no space between words. Each of their characters counts as a word. */
const UNSPACED = ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"]
  .map((script) => `\\p{Script=${script}}`)
  .join("");

/** A word. A longer one counts as several: an index does not take words of any length. */
const WORD = new RegExp(`[${UNSPACED}]|(?:(?![${UNSPACED}])[\\p{L}\\p{N}]){1,40}`, "gu");

/** Characters that nobody sees, and marks such as accents. */
const UNSEEN = /[\p{M}\p{Default_Ignorable_Code_Point}]/gu;

/** The different words of a text, without differences of case, width and accents. */
export function searchWordsOf(text: string): string[] {
  const folded = foldCase(text.normalize("NFKD")).normalize("NFKD").replace(UNSEEN, "");
  return [...new Set(folded.match(WORD) ?? [])];
}

/** The words of the content of a message: of its text, and of the names of its files. */
export function wordsOfContent(content: string | Uint8Array | null): string[] {
  if (typeof content !== "string") return [];
  const { body, files } = JSON.parse(content) as { body?: unknown; files?: unknown };
  const names = Array.isArray(files)
    ? (files as unknown[]).map((file) => (file as { name?: unknown } | null)?.name)
    : [];
  return searchWordsOf([body, ...names].filter((part) => typeof part === "string").join("\n"));
}

/** Whether each wanted word is the beginning of one of the words. */
export const hasWords = (words: readonly string[], wanted: readonly string[]): boolean =>
  wanted.every((start) => words.some((word) => word.startsWith(start)));

/** How an index has a word of a channel. The dot is in no word. */
export const indexedWord = (channel: number, word: string): string => `${channel}·${word}`;
