import { Command, InvalidArgumentError } from "commander";
import { loadConfig } from "../config.js";
import type { FileStore } from "../db/files.js";
import type { Store } from "../db/store.js";
import { textFault, type TextOptions } from "../schemas/texts.js";

// What a command works with is loaded when it runs, by `import()`: so that
// `foyer help` is there at once, and a token does not wait for a server.

/**
 * A command in the manner of all: `--json` for machines, an example in its help.
 * @param nameAndArgs as in `show <id>`.
 */
export function command(
  nameAndArgs: string,
  description: string,
  example: string,
): Command {
  const [name, ...args] = nameAndArgs.split(" ");
  const made = new Command(name)
    .description(description)
    .option("--json", "print JSON, for machines")
    .addHelpText("after", `\nExample:\n  $ foyer ${example}`);
  return args.length > 0 ? made.arguments(args.join(" ")) : made;
}

/** Runs something with the stores of DATA_DIR, and closes them whatever happens. */
export async function withStore<T>(
  run: (store: Store, files: FileStore) => Promise<T>,
): Promise<T> {
  const { dataDir } = loadConfig(process.env);
  const { openSqliteStore } = await import("../db/sqlite/index.js");
  const { LocalFiles } = await import("../db/local-files.js");
  const store = openSqliteStore(dataDir, {
    log: (line) => process.stderr.write(`foyer: ${line}\n`),
  });
  const files = new LocalFiles(dataDir);
  try {
    return await run(store, files);
  } finally {
    await files.close();
    await store.close();
  }
}

/**
 * Prints a result.
 * @param json whether `--json` was given.
 * @param value for machines.
 * @param text for people.
 */
export function print(json: boolean | undefined, value: unknown, text: string) {
  process.stdout.write(`${json ? JSON.stringify(value, null, 2) : text}\n`);
}

/** What moves the cursor, colors the terminal or turns the direction of text. */
const UNPRINTABLE =
  // eslint-disable-next-line no-control-regex -- they are what it is about
  /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** A text that somebody else chose, on one line and without a say in what a terminal does. */
export const plain = (text: string): string =>
  text.replace(
    UNPRINTABLE,
    (character) =>
      `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** A parser of arguments; a bad one is wrong usage. */
export function checked(text: TextOptions): (value: string) => string {
  return (value) => {
    const fault = textFault(text, value);
    if (fault) throw new InvalidArgumentError(fault);
    return value;
  };
}
