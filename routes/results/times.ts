import { InvalidData } from "../../schemas/validate.js";

/** An RFC 3339 time with an offset, or a date. */
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/i;

/**
 * A time in a query, in milliseconds since 1970.
 * @param name the parameter.
 * @throws {InvalidData}
 */
export function timeIn(
  name: string,
  text: string | undefined,
): number | undefined {
  if (text === undefined) return undefined;
  // In a query, a plus sign is a space.
  const time = Date.parse(
    TIME.test(text.replace(" ", "+")) ? text.replace(" ", "+") : "",
  );
  if (!Number.isNaN(time)) return time;
  throw new InvalidData({
    [name]: ["Must be a time like 2027-03-01T09:00:00Z."],
  });
}
