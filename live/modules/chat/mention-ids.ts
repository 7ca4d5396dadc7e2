import { UUID } from "../../../schemas/plain/texts.js";

/** A message that mentions this many users, or more, sends no notifications. */
const TOO_MANY = 50;

const MENTION = new RegExp(`@(${UUID})`, "gi");

/**
 * The ids that a text mentions, in lower case and each once; none if there are 50 or
 * more. The JSON of a text mentions the same.
 */
export function mentionsIn(text: string): string[] {
  const ids = new Set<string>();
  for (const [, id] of text.matchAll(MENTION)) {
    ids.add(id!.toLowerCase());
    if (ids.size >= TOO_MANY) return [];
  }
  return [...ids];
}
