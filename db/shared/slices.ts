/** How many rows a statement takes at most, and about how many characters. */
const MAX_ROWS = 5000;
const MAX_CHARACTERS = 4 * 1024 * 1024;

/**
 * Cuts a list into slices that a statement can take.
 * @param sizeOf about how many characters an entry has.
 */
export function* slices<T>(
  entries: Iterable<T>,
  sizeOf: (entry: T) => number,
): Generator<T[]> {
  let slice: T[] = [];
  let size = 0;
  for (const entry of entries) {
    slice.push(entry);
    size += sizeOf(entry);
    if (slice.length < MAX_ROWS && size < MAX_CHARACTERS) continue;
    yield slice;
    slice = [];
    size = 0;
  }
  if (slice.length > 0) yield slice;
}
