import { type Clock, nextTurn } from "../../db/log/clock.js";

/** How long something is done before other work gets its turn, in milliseconds. */
const SLICE = 5;

/** Does something with each of many items, and lets requests be served meanwhile. */
export async function inSlices<T>(
  clock: Clock,
  items: Iterable<T>,
  act: (item: T) => void,
): Promise<void> {
  let since = clock.now();
  for (const item of items) {
    act(item);
    if (clock.now() - since < SLICE) continue;
    await nextTurn(clock);
    since = clock.now();
  }
}
