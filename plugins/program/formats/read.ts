import type { ProgramDocument } from "../../../schemas/documents/program-document.js";
import { UnreadableDocument } from "../../../schemas/documents/unreadable.js";
import { findLosses, MAX_DEPTH } from "../../../schemas/validate.js";
import { readCsv } from "./csv.js";
import { Draft } from "./draft.js";
import { readCalendar } from "./icalendar.js";
import { Lines } from "./lines.js";
import { readOwn } from "./own.js";
import { isScheduleJson, readScheduleJson } from "./schedule-json.js";
import { readScheduleXml } from "./schedule-xml.js";
import { isZone } from "./zones.js";

/** How a document is read. */
export interface ReadOptions {
  /** Whether it is a table, which its content does not show. */
  isCsv: boolean;
  /** The zone of the world. */
  zone: string;
}

/**
 * Reads a program in any of its formats, which its content tells apart.
 * @throws {InvalidData} with the line or the path where it breaks.
 */
export function readProgram(bytes: Uint8Array, { isCsv, zone }: ReadOptions): ProgramDocument {
  const draft = new Draft(isZone(zone) ? zone : "UTC");
  if (!isCsv && IS_CALENDAR.test(latin1(bytes.subarray(0, 1000)))) {
    // Its lines may be folded within a character.
    const hasMark = latin1(bytes.subarray(0, 3)) === MARK;
    readCalendar(hasMark ? bytes.subarray(3) : bytes, draft);
    return { ...draft.finish(), hasOneLink: true };
  }
  const text = decode(bytes);
  const start = text.slice(0, 1000).trimStart();
  if (isCsv) readCsv(text, draft);
  else if (start.startsWith("<")) readScheduleXml(text, draft);
  else {
    const document = parseJson(text);
    if (!isScheduleJson(document)) {
      const losses = findLosses(text);
      if (losses) throw losses;
      return readOwn(document);
    }
    readScheduleJson(document, draft);
  }
  return draft.finish();
}

/** What marks the order of bytes, as UTF-8. */
const MARK = "\xEF\xBB\xBF";

const IS_CALENDAR = new RegExp(`^(${MARK})?\\s*BEGIN:VCALENDAR`, "i");

const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UnreadableDocument({ line: lineOfFault(bytes) }, "It is not UTF-8.");
  }
}

/** The first line that is not UTF-8. */
function lineOfFault(bytes: Uint8Array): number {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let line = 1;
  for (let from = 0; from < bytes.length; line++) {
    const found = bytes.indexOf(10, from);
    const end = found < 0 ? bytes.length : found + 1;
    try {
      decoder.decode(bytes.subarray(from, end));
    } catch {
      return line;
    }
    from = end;
  }
  return line;
}

/** A parser of JSON takes seconds for millions of levels. */
function refuseDepth(text: string): void {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      // Behind the string, whose escapes may hide its end.
      while (++at < text.length && text[at] !== '"') if (text[at] === "\\") at++;
    } else if (char === "[" || char === "{") {
      if (++depth > MAX_DEPTH) {
        throw new UnreadableDocument(
          { line: new Lines(text).at(at) },
          `May not be nested more than ${MAX_DEPTH} levels deep.`,
        );
      }
    } else if (char === "]" || char === "}") depth--;
  }
}

function parseJson(text: string): unknown {
  refuseDepth(text);
  try {
    return JSON.parse(text);
  } catch (error) {
    const { message } = error as Error;
    const lines = new Lines(text);
    const position = /at position (\d+)/.exec(message)?.[1];
    const line = position === undefined ? lines.count : lines.at(Number(position));
    throw new UnreadableDocument({ line }, "It is not JSON there.");
  }
}
