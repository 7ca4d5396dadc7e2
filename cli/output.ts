import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";

/**
 * Characters that control the terminal, break a line, change the direction of text, or
 * cannot be encoded as UTF-8.
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

/** The option of every command. */
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

/** Writes one line to stderr, with the name of the program. */
export function warn(message: string): void {
  context().stderr.write(`foyer: ${plain(message)}\n`);
}

/** What a command reads and writes, besides its arguments and its files. */
export interface Context {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream & { isTTY?: boolean };
}

const contexts = new AsyncLocalStorage<Context>();

/** The context of the running command: the process, unless {@link within} gave another. */
export const context = (): Context => contexts.getStore() ?? process;

/**
 * Runs something in a context of its own. The process itself needs none: on some
 * versions of Node, a context makes every promise of a server slower.
 */
export const within = <T>(own: Context, run: () => T): T => contexts.run(own, run);

/**
 * Prints a list item by item, so memory does not grow with the list.
 * @param json whether `--json` was given.
 * @param cellsOf the cells of an item's line for people.
 * @param none the text for people when the list is empty.
 */
export async function printList<T>(
  json: boolean | undefined,
  items: AsyncIterable<T>,
  cellsOf: (item: T) => readonly string[],
  none: string,
): Promise<void> {
  let count = 0;
  const texts = async function* () {
    for await (const item of items) {
      yield json ? `${count === 0 ? "[" : ","}\n${indented(item)}` : textOf([cellsOf(item)]);
      count++;
    }
    if (json) yield count === 0 ? "[]\n" : "\n]\n";
    else if (count === 0) yield `${none}\n`;
  };
  await writeAll(texts());
}

/** Writes texts to stdout as fast as they are read, and stops when the reader closes it. */
export async function writeAll(texts: AsyncIterable<string>): Promise<void> {
  const { stdout } = context();
  for await (const text of texts) {
    if (stdout.write(text)) continue;
    // The reader may close the pipe early, as `head` does.
    const goesOn = await once(stdout, "drain").then(
      () => true,
      () => false,
    );
    if (!goesOn) return;
  }
}

/** The JSON of an item, indented as in `JSON.stringify` of the whole list, and escaped like all output. */
const indented = (value: unknown) =>
  textOf(JSON.stringify(value, null, 2).split("\n"))
    .trimEnd()
    .replace(/^/gm, "  ");
