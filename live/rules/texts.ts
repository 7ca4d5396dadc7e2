import { lengthOf } from "../../schemas/plain/texts.js";
import type { Live } from "../live.js";
import { invalidPayload } from "./problems.js";

/**
 * Checks the lengths of what people wrote.
 * @param texts by the path of their field; undefined for those that were left out.
 * @throws {LiveError} `protocol.invalid_payload`, with each field that is too long.
 */
export function requireShort(
  { limits: { maxText } }: Live,
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
