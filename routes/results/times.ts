import { timeIn as readTime } from "../../schemas/plain/times.js";
import { InvalidData } from "../../schemas/validate.js";

/**
 * A time in a query, in milliseconds since 1970.
 * @param name the parameter.
 * @throws {InvalidData} about a time that does not exist.
 */
export function timeIn(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = readTime(text);
  if (time !== undefined) return time;
  throw new InvalidData({ [name]: ["Must be a time that exists."] });
}
