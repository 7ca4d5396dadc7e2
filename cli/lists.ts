import { once } from "node:events";
import { context } from "./context.js";
import { textOf } from "./output.js";

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
