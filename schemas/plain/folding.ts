// Folds texts that people consider equal: in searches, poll words, and blocked words.

/** Matches invisible characters, and combining marks such as accents. */
const UNSEEN = /[\p{M}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Folds the case of a string. One conversion is not enough: only upper case unifies σ and ς, and
 * only lower case unifies K and the Kelvin sign.
 */
export function foldCase(text: string): string {
  return text.toLowerCase().toUpperCase();
}

/** Scripts without spaces between words, for a character class. Each character counts as a word. */
export const UNSPACED = ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"]
  .map((script) => `\\p{Script=${script}}`)
  .join("");

/** Returns a text without differences in case, width and accents, and without invisible characters. */
export const foldText = (text: string): string =>
  foldCase(text.normalize("NFKD")).normalize("NFKD").replace(UNSEEN, "");
