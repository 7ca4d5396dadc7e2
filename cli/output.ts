import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";

/** Characters that control the terminal, break a line, change the text direction, or cannot be encoded as UTF-8. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]/gu;

/**
 * Makes untrusted text safe to print: it stays on one line, and cannot control a terminal. In JSON,
 * the escapes denote the same characters.
 */
export const plain = (text: string): string =>
  text.replace(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** Formats a count: `chat_events` and 1 become "1 chat event". */
export const counted = (what: string, count: number): string => {
  const nouns = what.replace("_", " ");
  return `${count} ${count === 1 ? nouns.slice(0, -1) : nouns}`;
};

/** The option that all commands share. */
export interface JsonOption {
  json?: boolean;
}

/** A line of human-readable output. An array contains cells, which are printed with tabs in between. */
export type OutputLine = string | readonly string[];

/**
 * Prints a result on stdout.
 * @param json whether `--json` was given.
 * @param value printed with `--json`.
 * @param lines printed without `--json`.
 */
export function print(
  json: boolean | undefined,
  value: unknown,
  lines: readonly OutputLine[],
): void {
  printLines(json ? JSON.stringify(value, null, 2).split("\n") : lines);
}

/** Writes lines to stdout. */
export function printLines(lines: readonly OutputLine[]): void {
  context().stdout.write(textOf(lines));
}

/** Renders lines. Everything except the tabs between cells is escaped. */
export const textOf = (lines: readonly OutputLine[]): string =>
  lines.map((line) => `${[line].flat().map(plain).join("\t")}\n`).join("");

/** Writes one line to stderr, prefixed with the name of the program. */
export function warn(message: string): void {
  context().stderr.write(`foyer: ${plain(message)}\n`);
}

/** A command's environment and streams. */
export interface CliContext {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream & { isTTY?: boolean };
}

const contexts = new AsyncLocalStorage<CliContext>();

/** Returns the context of the running command: the process, unless {@link within} set a different context. */
export const context = (): CliContext => contexts.getStore() ?? process;

/**
 * Runs a function in the given context. A command that uses the process's environment and streams
 * runs without a context of its own, because on some versions of Node.js a context slows down every
 * promise in a server.
 */
export const within = <T>(own: CliContext, run: () => T): T => contexts.run(own, run);

/**
 * Prints a list item by item, so that memory does not grow with the list.
 * @param json whether `--json` was given.
 * @param cellsOf returns the cells of an item's human-readable line.
 * @param none the human-readable message for an empty list.
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

/** Writes strings to stdout as fast as the reader consumes them, and stops if the reader closes the pipe. */
export async function writeAll(texts: AsyncIterable<string>): Promise<void> {
  const { stdout } = context();
  for await (const text of texts) {
    if (stdout.write(text)) continue;
    // The reader may close the pipe early, as `head` does.
    const isOpen = await once(stdout, "drain").then(
      () => true,
      () => false,
    );
    if (!isOpen) return;
  }
}

/** Renders an item as JSON, indented as within the whole list, and escaped like all output. */
const indented = (value: unknown) =>
  textOf(JSON.stringify(value, null, 2).split("\n"))
    .trimEnd()
    .replace(/^/gm, "  ");
