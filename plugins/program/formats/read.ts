import type { ProgramDocument } from "../../../schemas/documents/program-document.js";
import { UnreadableDocument } from "../../../schemas/documents/unreadable.js";
import { findLosses, MAX_DEPTH } from "../../../schemas/validate.js";
import { sheetRows, UnreadableSheet } from "../../../schemas/plain/sheets/sheets.js";
import { textOf } from "../../../schemas/plain/sheets/tables.js";
import { readCsv, readTable } from "./csv.js";
import { ParsedProgram } from "./draft.js";
import { readCalendar } from "./icalendar.js";
import { LineIndex } from "./lines.js";
import { readOwn } from "./own.js";
import { isScheduleJson, readScheduleJson } from "./schedule-json.js";
import { readScheduleXml } from "./schedule-xml.js";
import { isZone } from "./zones.js";

export interface ReadOptions {
  /** Whether the document is a CSV table, which cannot be detected from the content. */
  isCsv: boolean;
  /** The world's time zone. */
  zone: string;
}

/**
 * Reads a program in any supported format. Except for CSV, the format is detected from the content.
 * @throws {InvalidData} with the line or the path of the fault.
 */
export function readProgram(bytes: Uint8Array, { isCsv, zone }: ReadOptions): ProgramDocument {
  const draft = new ParsedProgram(isZone(zone) ? zone : "UTC");
  if (isCsv) {
    readCsv(textOf(bytes), draft);
    return draft.finish();
  }
  if (IS_CALENDAR.test(latin1(bytes.subarray(0, 1000)))) {
    // The calendar is passed on as bytes, because lines may be folded within a character.
    const hasMark = latin1(bytes.subarray(0, 3)) === MARK;
    readCalendar(hasMark ? bytes.subarray(3) : bytes, draft);
    return { ...draft.finish(), hasOneLink: true };
  }
  const start = latin1(bytes.subarray(0, 1000)).replace(MARK, "").trimStart();
  if (start !== "" && !/^[[{<"\dtfn-]/.test(start)) throw new UnreadableDocument({}, UNKNOWN);
  const text = decode(bytes);
  if (start.startsWith("<")) readScheduleXml(text, draft);
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

const UNKNOWN =
  "This is none of the files that can be read: Excel (.xlsx), CSV, iCalendar (.ics), schedule.json, schedule.xml, and a program as Foyer exports it.";

/**
 * Reads a program from a workbook.
 * @throws {InvalidData} with the line of the fault.
 */
export async function readWorkbook(bytes: Uint8Array, zone: string): Promise<ProgramDocument> {
  const draft = new ParsedProgram(isZone(zone) ? zone : "UTC");
  let rows: string[][];
  try {
    rows = await sheetRows(bytes);
  } catch (error) {
    if (!(error instanceof UnreadableSheet)) throw error;
    throw new UnreadableDocument({}, error.message);
  }
  const width = rows[0]?.findLastIndex((cell) => cell.trim() !== "") ?? -1;
  readTable(
    rows
      .map((cells, i) => ({ cells: cells.slice(0, width + 1), line: i + 1 }))
      .filter(({ cells }) => cells.some((cell) => cell.trim() !== "")),
    draft,
  );
  return draft.finish();
}

/** The UTF-8 byte order mark, decoded as Latin-1. */
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

/** Returns the first line that is not UTF-8. */
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

/** Rejects deeply nested JSON, because parsing millions of levels takes seconds. */
function refuseDepth(text: string): void {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      // Skip the string, including any escaped quotation marks.
      while (++at < text.length && text[at] !== '"') if (text[at] === "\\") at++;
    } else if (char === "[" || char === "{") {
      if (++depth > MAX_DEPTH) {
        throw new UnreadableDocument(
          { line: new LineIndex(text).at(at) },
          `May be nested at most ${MAX_DEPTH} levels deep.`,
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
    const lines = new LineIndex(text);
    const position = /at position (\d+)/.exec(message)?.[1];
    const line = position === undefined ? lines.count : lines.at(Number(position));
    throw new UnreadableDocument({ line }, "This is not valid JSON.");
  }
}
