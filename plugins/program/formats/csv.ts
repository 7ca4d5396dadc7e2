import { CsvError, parse } from "csv-parse/sync";
import { type Separator, separatorOf } from "../../../schemas/plain/sheets/tables.js";
import { type DateOrder, dateOrder, isoDay, isoTime } from "./local-dates.js";
import type { SourcePosition } from "../../../schemas/documents/program-document.js";
import { UnreadableDocument } from "../../../schemas/documents/unreadable.js";
import type { ParsedProgram } from "./draft.js";
import { quoted } from "./found.js";

/** The columns of a program. Only the title is required. */
const COLUMNS = [
  "title",
  "start",
  "end",
  "room",
  "speakers",
  "track",
  "abstract",
  "language",
] as const;

/** Alternative column names in people's own tables, and columns that only these tables have. */
const NAMES = {
  title: ["session", "session title", "talk", "titel", "vortrag", "programmpunkt"],
  start: ["starts", "starts at", "starts_at", "start time", "from", "begin", "beginn", "von"],
  end: ["ends", "ends at", "ends_at", "end time", "to", "until", "ende", "bis"],
  date: ["day", "datum", "tag"],
  duration: ["minutes", "length", "dauer", "minuten"],
  room: ["location", "venue", "stage", "raum", "ort", "saal", "bühne"],
  speakers: ["speaker", "presenter", "presenters", "sprecher", "referent", "referenten"],
  track: ["strang", "themenstrang"],
  abstract: ["summary", "kurzbeschreibung", "zusammenfassung"],
  description: ["beschreibung", "inhalt"],
  language: ["lang", "sprache"],
} as const;
type Column = keyof typeof NAMES;
type Row = Partial<Record<Column, string>>;

const COLUMN_OF = new Map<string, Column>(
  Object.entries(NAMES).flatMap(([column, names]) =>
    [column, ...names].map((name) => [name, column as Column]),
  ),
);

/** A row of a table, with its line. */
export interface TableRow {
  readonly cells: readonly string[];
  readonly line: number;
}

/** Maximum number of rows to read, which is more than a document may have. */
const MAX_ROWS = 25_000;

const MAX_COLUMNS = 200;

/** Maximum number of lines. A cell may span several lines. */
const MAX_LINES = 400_000;

/**
 * Reads a table with a header. Times without an offset are in the world's time zone.
 * @throws {UnreadableDocument} with the line.
 */
export function readCsv(text: string, draft: ParsedProgram): void {
  const separator = separatorOf(text);
  // Excel separates cells with semicolons in locales that write the day first.
  readTable(rowsOf(text, separator), draft, separator === "," ? "month first" : "day first");
}

/**
 * Reads the rows of a table with a header.
 * @param order the order of day and month, if no date in the table reveals it.
 */
export function readTable(
  [header, ...rows]: readonly TableRow[],
  draft: ParsedProgram,
  order: DateOrder = "month first",
): void {
  const columns = columnsOf(header?.cells ?? [], draft);
  const read = rows.map(({ cells, line }) => {
    const row: Row = {};
    columns.forEach((column, i) => column && (row[column] = cells[i]));
    return { cells, line, row };
  });
  const dates = read.flatMap(({ row }) => [row.date ?? "", row.start ?? "", row.end ?? ""]);
  const found = dateOrder(dates, order);
  if (found.isGuess) {
    draft.problem({ line: 1 }, `Dates such as 5/6/2027 were read with the ${found.order}.`);
  }
  for (const { cells, line, row } of read) {
    const position = { line };
    const { title = "" } = row;
    draft.attempt(position, title, () => {
      if (
        cells.length < columns.length ||
        cells.slice(columns.length).some((cell) => cell.trim() !== "")
      ) {
        throw draft.fault(position, "columns", `The row has ${cells.length} of ${columns.length}.`);
      }
      readRow(row, position, draft, found.order);
    });
  }
}

function readRow(row: Row, position: SourcePosition, draft: ParsedProgram, order: DateOrder): void {
  const { title = "", start = "", end = "", date = "", duration = "", speakers } = row;
  if (title.trim() === "") {
    throw draft.fault(position, "title", "May not be empty.");
  }
  const day = isoDay(date, order);
  if (date.trim() !== "" && day === undefined) {
    throw draft.fault(position, "date", `${quoted(date)} is no date.`);
  }
  const time = (field: "start" | "end", value: string) =>
    draft.time(isoTime(value, order, day) ?? value, { position, field, title: title.trim() });
  const isTimed = start.trim() !== "" || end.trim() !== "";
  const times = () => {
    const from = time("start", start);
    if (end.trim() !== "" || duration.trim() === "") return { start: from, end: time("end", end) };
    const minutes = minutesIn(duration);
    if (minutes !== undefined) return { start: from, end: from + minutes * 60_000 };
    throw draft.fault(position, "duration", `${quoted(duration)} is no number of minutes.`);
  };
  const names = speakers?.split(/[;|\n]/).filter((name) => name.trim() !== "");
  for (const name of names ?? []) {
    // Two texts between commas that each have a space look like two names.
    const parts = name.split(",").filter((part) => /\p{L} \p{L}/u.test(part));
    if (parts.length < 2) continue;
    const message = `${quoted(name.trim())} was read as one speaker. Put semicolons between speakers.`;
    draft.problem(position, message, title.trim());
  }
  draft.session({
    position,
    title,
    abstract: row.abstract,
    ...(row.description !== undefined && { description: row.description }),
    track: row.track,
    language: row.language,
    room: row.room,
    ...(names && { speakers: names.map((name) => ({ position, name })) }),
    times: isTimed ? times() : null,
  });
}

/** Parses minutes: `45`, `45 min` or `0:45`. */
function minutesIn(text: string): number | undefined {
  const match = /^(?:(\d{1,2}):)?(\d{1,4})\s*(?:min\p{L}*\.?)?$/iu.exec(text.trim());
  if (!match) return undefined;
  return Number(match[1] ?? 0) * 60 + Number(match[2]);
}

function rowsOf(text: string, delimiter: Separator): TableRow[] {
  if (text.split(/\r\n?|\n/, MAX_LINES + 1).length > MAX_LINES) {
    throw new UnreadableDocument(
      { line: MAX_LINES },
      `A file may have at most ${MAX_LINES} lines.`,
    );
  }
  try {
    const rows = parse(text, {
      bom: true,
      delimiter,
      info: true,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      to: MAX_ROWS,
    }) as unknown as { record: string[]; info: { lines: number } }[];
    // A cell may span lines; `info.lines` is the line on which the row ends.
    return rows.map(({ record, info }) => ({ cells: record, line: info.lines }));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const { lines } = error as unknown as { lines?: number };
    throw new UnreadableDocument({ line: lines ?? 1 }, sentence(error));
  }
}

/** Maps header cells to columns. Skipped columns are undefined. */
function columnsOf(header: readonly string[], draft: ParsedProgram): (Column | undefined)[] {
  if (header.length > MAX_COLUMNS) {
    const message = `A file may have at most ${MAX_COLUMNS} columns.`;
    throw new UnreadableDocument({ line: 1 }, message);
  }
  const seen = new Set<string>();
  // A column with the standard name takes precedence over a column with an alternative name.
  const names = header.map((cell) => cell.trim().toLowerCase());
  const proper = new Set(names.filter((name) => Object.hasOwn(NAMES, name)));
  const columns = names.map((name) => {
    const known = COLUMN_OF.get(name);
    const isOther = known !== undefined && known !== name && proper.has(known);
    if (known && !isOther && !seen.has(known)) {
      seen.add(known);
      return known;
    }
    const why = known ? "occurs twice" : "is unknown";
    draft.problem({ line: 1 }, `The column ${quoted(name)} ${why}. It was skipped.`);
    return undefined;
  });
  if (seen.has("title")) return columns;
  throw new UnreadableDocument(
    { line: 1 },
    `The header must name the columns: ${COLUMNS.join(",")}. Only the title is required.`,
  );
}

const sentence = ({ message }: CsvError): string => {
  const [first = ""] = message.split(/[\r\n]/, 1);
  return `${first.slice(0, 200).replace(/\.$/, "")}.`;
};
