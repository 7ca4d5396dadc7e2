import { lengthOf } from "../../schemas/plain/texts.js";
import { invalidPayload } from "./problems.js";

/** An id as the store takes it. What is no text is the id of nothing. */
export const idIn = (value: unknown): string =>
  typeof value === "string" ? value : "";

/**
 * Checks the lengths of what people wrote.
 * @param maxText how long each may be, in characters.
 * @param texts by the path of their field; undefined for those that were left out.
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
