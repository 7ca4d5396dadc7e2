import { UnreadableDocument } from "../../../schemas/documents/unreadable.js";
import { LineIndex } from "./lines.js";

// Checks that run before an XML parser sees the text, because a parser would resolve entity
// references, and would tolerate or repair invalid input.

/** Maximum nesting depth of elements. A schedule needs eight levels. */
const MAX_DEPTH = 32;

/** Maximum number of elements and attributes. A schedule with 1,400 events has 60,000 elements and attributes. */
const MAX_NODES = 300_000;

/** Maximum number of attributes per element. */
const MAX_ATTRIBUTES = 100;

const ATTRIBUTE = /\s[\w:.-]+\s*=/g;

/** Any `&` that begins neither a predefined entity nor a character reference. */
const REFERENCE = /&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-f]{1,6});)/i;

const NAME = /^<\/?([A-Za-z_:][\w:.-]{0,99})/;

/**
 * Rejects DTDs, entity references, deep nesting, and text that is not well-formed, in a single
 * pass.
 * @throws {UnreadableDocument} with the line.
 */
export function scanXml(text: string, lines: LineIndex): void {
  const open: { name: string; at: number }[] = [];
  let hasRoot = false;
  const fail = (at: number, message: string): never => {
    throw new UnreadableDocument({ line: lines.at(at) }, message);
  };
  /** Returns the position after the next `end`, or fails if there is no `end`. */
  const endOf = (at: number, end: string, what: string): number => {
    const found = text.indexOf(end, at);
    return found < 0 ? fail(at, `${what} has no end.`) : found + end.length;
  };
  const refuseReferences = (from: number, to: number) => {
    const between = text.slice(from, to);
    const found = REFERENCE.exec(between);
    if (found) fail(from + found.index, "Entities are not allowed.");
    return between;
  };

  let nodes = 0;
  const count = (at: number, more: number) => {
    nodes += more;
    if (nodes > MAX_NODES) {
      fail(at, `A file may have at most ${MAX_NODES} elements and attributes.`);
    }
  };

  let at = text.startsWith("\uFEFF") ? 1 : 0;
  while (at < text.length) {
    const tag = text.indexOf("<", at);
    const to = tag < 0 ? text.length : tag;
    const between = refuseReferences(at, to);
    if (open.length === 0 && between.trim() !== "") {
      fail(at + between.search(/\S/), "There is text outside the schedule.");
    }
    at = to;
    if (tag < 0) break;
    if (text[at + 1] !== "/") count(at, 1);
    if (text.startsWith("<!--", at)) at = endOf(at + 4, "-->", "A comment");
    else if (text.startsWith("<![CDATA[", at) && open.length > 0) {
      at = endOf(at, "]]>", "A section of CDATA");
    } else if (text.startsWith("<!", at)) {
      fail(at, "Document type and entity declarations are not allowed.");
    } else if (text.startsWith("<?", at)) {
      const end = endOf(at, "?>", "An instruction");
      const declared = /^<\?xml\s[^>]*encoding\s*=\s*["']([^"']*)/i.exec(
        text.slice(at, Math.min(end, at + 300)),
      )?.[1];
      if (declared !== undefined && !/^(utf-?8|us-ascii)$/i.test(declared)) {
        fail(at, "The encoding must be UTF-8.");
      }
      at = end;
    } else {
      const end = endOfTag(text, at) ?? fail(at, "A tag has no end.");
      const name = NAME.exec(text.slice(at, at + 110))?.[1] ?? fail(at, "A tag has no name.");
      const tag = refuseReferences(at, end);
      const attributes = tag.match(ATTRIBUTE)?.length ?? 0;
      if (attributes > MAX_ATTRIBUTES) {
        fail(at, `An element may have at most ${MAX_ATTRIBUTES} attributes.`);
      }
      count(at, attributes);
      if (text[at + 1] === "/") {
        const last = open.pop();
        if (last?.name !== name) {
          fail(
            at,
            last
              ? `</${name}> ends <${last.name}> of line ${lines.at(last.at)}.`
              : `</${name}> ends nothing.`,
          );
        }
      } else {
        if (open.length === 0 && hasRoot) fail(at, "There is a second root.");
        hasRoot = true;
        if (text[end - 2] !== "/") open.push({ name, at });
        if (open.length > MAX_DEPTH) {
          fail(at, `May be nested at most ${MAX_DEPTH} levels deep.`);
        }
      }
      at = end;
    }
  }
  const last = open.at(-1);
  if (last) {
    fail(text.length, `<${last.name}> of line ${lines.at(last.at)} has no end.`);
  }
}

/**
 * Returns the position after a tag, whose attribute values may contain `>`, or undefined if the tag
 * is unterminated.
 */
function endOfTag(text: string, from: number): number | undefined {
  for (let at = from + 1; at < text.length;) {
    const char = text[at];
    if (char === ">") return at + 1;
    if (char === "<") return undefined;
    if (char === '"' || char === "'") {
      const end = text.indexOf(char, at + 1);
      if (end < 0) return undefined;
      at = end + 1;
    } else at++;
  }
  return undefined;
}
