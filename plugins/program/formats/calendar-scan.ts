import { UnreadableDocument } from "../../../schemas/documents/unreadable.js";

/** How deep components may nest. A calendar needs four levels. */
const MAX_DEPTH = 8;

/**
 * Checks the lines of a calendar (RFC 5545, section 3.1) before a parser reads it, which would
 * not say on which line it fails.
 * @returns the line on which each VEVENT of the outermost components begins, in their order.
 * @throws {UnreadableDocument} with the line.
 */
export function eventLines(text: string): number[] {
  const found: number[] = [];
  const open: string[] = [];
  let line = 0;
  const fail = (message: string): never => {
    throw new UnreadableDocument({ line }, message);
  };
  for (const content of text.split(/\r?\n/)) {
    line++;
    if (/^[ \t]/.test(content) || content === "") continue;
    const match = /^([A-Za-z0-9-]{1,200})[;:]/.exec(content);
    if (!match) fail("It is neither a property nor the rest of one.");
    const name = match![1]!.toUpperCase();
    if (name !== "BEGIN" && name !== "END") {
      if (open.length === 0) fail("It is outside of a calendar.");
      continue;
    }
    const component = content
      .slice(name.length + 1)
      .trim()
      .toUpperCase();
    if (name === "BEGIN") {
      if (component === "VEVENT" && open.length === 1) found.push(line);
      if (open.length === 0 && component !== "VCALENDAR") {
        fail("A calendar begins with BEGIN:VCALENDAR.");
      }
      open.push(component);
      if (open.length > MAX_DEPTH) {
        fail(`May not be nested more than ${MAX_DEPTH} levels deep.`);
      }
    } else if (open.pop() !== component) {
      fail(`END:${component.slice(0, 50)} has no beginning.`);
    }
  }
  if (open.length > 0) fail(`END:${open.at(-1)!.slice(0, 50)} is missing.`);
  return found;
}
