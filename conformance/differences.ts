import { randomUUID } from "node:crypto";
import type { Json } from "./client.js";

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

const short = (value: unknown): string =>
  (JSON.stringify(value) ?? "nothing").slice(0, 300);

/**
 * The differences of two values of JSON, a line for each place.
 * @param isPart whether fields that `expected` does not name may be anything. A list has
 *   just the entries that are expected.
 */
export function differences(
  actual: unknown,
  expected: unknown,
  isPart = false,
  path = "",
): string[] {
  if (!isObject(actual) || !isObject(expected)) {
    if (Object.is(actual, expected)) return [];
    return [`${path || "it"} is ${short(actual)}, not ${short(expected)}`];
  }
  if (Array.isArray(actual) !== Array.isArray(expected)) {
    return [`${path || "it"} is ${short(actual)}, not ${short(expected)}`];
  }
  const isWhole = !isPart || Array.isArray(expected);
  const keys = new Set([
    ...Object.keys(expected),
    ...(isWhole ? Object.keys(actual) : []),
  ]);
  return [...keys].flatMap((key) =>
    differences(
      actual[key],
      expected[key],
      isPart,
      path === "" ? key : `${path}.${key}`,
    ),
  );
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The keys that name an event, by a number. */
const EVENTS = ["event", "replaces"];
/** The keys that name a room or its channel. */
const PLACES = ["room", "channel"];

/** A payload that names other things in the same place, which are not there. */
export function withoutThings(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutThings);
  if (typeof value === "string") {
    return UUID.test(value) ? randomUUID() : value;
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (PLACES.includes(key)) return [key, inner];
      return [key, EVENTS.includes(key) ? 2 ** 40 : withoutThings(inner)];
    }),
  );
}
