import type { Column } from "./tables.js";

/** The greatest time of a `Date`, in milliseconds before and after 1970. */
const LAST_TIME = 8_640_000_000_000_000;

/**
 * What is wrong with a value of a document in a column.
 * @param value of a column with JSON: what its text says.
 */
export function faultOfValue(
  { kind, nullable, json, values, isTime }: Column,
  value: unknown,
): string | undefined {
  if (value === null) return nullable ? undefined : "May not be null.";
  if (json !== undefined) {
    const found =
      typeof value !== "object"
        ? undefined
        : Array.isArray(value)
          ? "list"
          : "object";
    return found === json ? undefined : `Must be ${NAMES[json]}.`;
  }
  if (values && !values.includes(value as string)) {
    return `Must be one of ${values.map((one) => JSON.stringify(one)).join(", ")}.`;
  }
  if (kind === "text") {
    return typeof value === "string" ? undefined : "Must be a text.";
  }
  if (!Number.isSafeInteger(value)) return "Must be a whole number.";
  return isTime && Math.abs(value as number) > LAST_TIME
    ? "Must be a time in milliseconds."
    : undefined;
}

const NAMES = { object: "an object", list: "a list" };
