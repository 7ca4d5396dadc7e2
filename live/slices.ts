import { setImmediate } from "node:timers/promises";

/** How long something is done before other work gets its turn, in milliseconds. */
const SLICE = 5;

/** Does something with each of many items, and lets requests be served meanwhile. */
export async function inSlices<T>(
  items: Iterable<T>,
  act: (item: T) => void,
): Promise<void> {
  let since = performance.now();
  for (const item of items) {
    act(item);
    if (performance.now() - since < SLICE) continue;
    await setImmediate();
    since = performance.now();
  }
}
