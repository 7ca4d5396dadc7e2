/** The JSON of values that many answers have in common. */
const known = new WeakMap<object, string>();

/** Encodes a value once for all answers that have it as a field. Do not change it any more. */
export function encodedOnce<T extends object>(value: T): T {
  known.set(value, JSON.stringify(value));
  return value;
}

/** A result as JSON. */
export function jsonOf(result: unknown): string {
  if (typeof result !== "object" || result === null || Array.isArray(result)) {
    return JSON.stringify(result);
  }
  const shared = Object.entries(result).flatMap(([key, value]) => {
    const json = known.get(value as object);
    return json === undefined ? [] : [`${JSON.stringify(key)}:${json}`];
  });
  if (shared.length === 0) return JSON.stringify(result);
  const rest = Object.fromEntries(
    Object.entries(result).filter(([, value]) => !known.has(value as object)),
  );
  const json = JSON.stringify(rest).slice(0, -1);
  return `${json}${json === "{" ? "" : ","}${shared.join()}}`;
}
