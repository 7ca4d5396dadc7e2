/** The JSON of values that many answers have in common. */
const known = new WeakMap<object, string>();

/** Encodes a value once for all answers that have it as a field. Do not change it any more. */
export function encodedOnce<T extends object>(
  value: T,
  json = JSON.stringify(value),
): T {
  known.set(value, json);
  return value;
}

/** A result as JSON. */
export function jsonOf(result: unknown): string {
  if (typeof result !== "object" || result === null || Array.isArray(result)) {
    return JSON.stringify(result);
  }
  const entries = Object.entries(result);
  const isKnown = ([, value]: [string, unknown]) => known.has(value as object);
  if (!entries.some(isKnown)) return JSON.stringify(result);
  const shared = entries
    .filter(isKnown)
    .map(
      ([key, value]) => `${JSON.stringify(key)}:${known.get(value as object)}`,
    );
  const rest = Object.fromEntries(entries.filter((entry) => !isKnown(entry)));
  const json = JSON.stringify(rest).slice(0, -1);
  return `${json}${json === "{" ? "" : ","}${shared.join()}}`;
}
