import { lengthOf } from "../../schemas/plain/texts.js";
import { invalidPayload } from "./problems.js";

/** An id as the store takes it. A value that is no text becomes an unknown id. */
export const idIn = (value: unknown): string =>
  typeof value === "string" ? value : "";

/**
 * Checks the lengths of user texts.
 * @param maxText the longest allowed text, in characters.
 * @param texts by the path of their field; undefined for omitted ones.
 * @throws {LiveError} `protocol.invalid_payload`, with each field that is too long.
 */
export function requireShort(
  maxText: number,
  texts: Record<string, string | undefined>,
): void {
  const long = Object.entries(texts).filter(
    ([, text = ""]) => lengthOf(text) > maxText,
  );
  if (long.length === 0) return;
  const fault = [`Must be at most ${maxText} characters.`];
  throw invalidPayload(
    Object.fromEntries(long.map(([field]) => [field, fault])),
  );
}
