import { once } from "node:events";
import { context } from "./context.js";
import { textOf } from "./output.js";

/** How many items of a list are read at once. */
const PAGE = 100;

/**
 * All that the pages of a list hold, a page at a time. While others write, what
 * moves back to the next page is not given again.
 * @param read gives the items of a page.
 */
export async function* pages<T extends { id: string }>(
  read: (page: { page: number; pageSize: number }) => Promise<T[]>,
): AsyncGenerator<T> {
  let seen = new Set<string>();
  for (let page = 1; ; page++) {
    const items = await read({ page, pageSize: PAGE });
    for (const item of items) if (!seen.has(item.id)) yield item;
    if (items.length < PAGE) return;
    seen = new Set(items.map(({ id }) => id));
  }
}

/**
 * Prints a list as it comes, and never holds all of it.
 * @param json whether `--json` was given.
 * @param describe the cells of an item's line for people.
 * @param none what people read when there is nothing.
 */
export async function printList<T>(
  json: boolean | undefined,
  items: AsyncIterable<T>,
  describe: (item: T) => readonly string[],
  none: string,
): Promise<void> {
  const { stdout } = context();
  let count = 0;
  for await (const item of items) {
    const text = json
      ? `${count === 0 ? "[" : ","}\n${indented(item)}`
      : textOf([describe(item)]);
    count++;
    if (!stdout.write(text)) {
      // Whoever reads it may want only the beginning.
      const goesOn = await once(stdout, "drain").then(
        () => true,
        () => false,
      );
      if (!goesOn) return;
    }
  }
  if (json) stdout.write(count === 0 ? "[]\n" : "\n]\n");
  else if (count === 0) stdout.write(`${none}\n`);
}

/** As in a list that is written as a whole, and escaped like all output. */
const indented = (value: unknown) =>
  textOf(JSON.stringify(value, null, 2).split("\n"))
    .trimEnd()
    .replace(/^/gm, "  ");
