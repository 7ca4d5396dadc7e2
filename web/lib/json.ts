/** Whether two values of JSON say the same; the order of keys does not matter. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a).filter((key) => valueIn(a, key) !== undefined);
  const others = Object.keys(b).filter((key) => valueIn(b, key) !== undefined);
  return (
    keys.length === others.length && keys.every((key) => isSame(valueIn(a, key), valueIn(b, key)))
  );
}

const valueIn = (of: object, key: string): unknown =>
  Object.hasOwn(of, key) ? (of as Record<string, unknown>)[key] : undefined;

/** A value of JSON, for people to read. */
export const jsonText = (value: unknown): string => JSON.stringify(value, null, 2);
