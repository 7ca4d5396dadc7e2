import { context } from "./context.js";

/**
 * What moves the cursor, colors the terminal, breaks a line, turns the direction
 * of text, or cannot be written as UTF-8.
 */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]/gu;

/**
 * Makes a text of any origin safe to show: it stays on one line, and a terminal
 * obeys nothing in it. In JSON, the escapes mean the same characters.
 */
export const plain = (text: string): string =>
  text.replace(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** Such as "1 chat event" of 1 and `chat_events`. */
export const counted = (what: string, count: number): string => {
  const nouns = what.replace("_", " ");
  return `${count} ${count === 1 ? nouns.slice(0, -1) : nouns}`;
};

/** What every command takes. */
export interface JsonOption {
  json?: boolean;
}

/** A line for people; several cells are set apart by tabs. */
export type Line = string | readonly string[];

/**
 * Prints a result on stdout.
 * @param json whether `--json` was given.
 * @param value for machines.
 * @param lines for people.
 */
export function print(json: boolean | undefined, value: unknown, lines: readonly Line[]): void {
  printLines(json ? JSON.stringify(value, null, 2).split("\n") : lines);
}

/** Writes lines to stdout. */
export function printLines(lines: readonly Line[]): void {
  context().stdout.write(textOf(lines));
}

/** The text of lines. Everything but the tabs between cells is escaped. */
export const textOf = (lines: readonly Line[]): string =>
  lines.map((line) => `${[line].flat().map(plain).join("\t")}\n`).join("");

/** Tells the operator something on stderr, in one line that says who speaks. */
export function warn(message: string): void {
  context().stderr.write(`foyer: ${plain(message)}\n`);
}
