import { CsvError, parse } from "csv-parse/sync";
import type { Position } from "../../../schemas/documents/program-document.js";
import { UnreadableDocument } from "../../../schemas/documents/unreadable.js";
import type { Draft } from "./draft.js";
import { quoted } from "./found.js";

/** The columns of a program. Only the title must be there. */
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
type Row = Partial<Record<(typeof COLUMNS)[number], string>>;

/** How many rows are looked at: more than a document may have. */
const MOST_ROWS = 25_000;

/** The most columns of a table. */
const MOST_COLUMNS = 200;

/** The most lines of a table. A cell may have many. */
const MOST_LINES = 400_000;

/**
 * Reads a table with a header. Times are in the zone of the world, unless they have an offset.
 * @throws {UnreadableDocument} with the line.
 */
export function readCsv(text: string, draft: Draft): void {
  const [header, ...rows] = rowsOf(text);
  const columns = columnsOf(header?.cells ?? [], draft);
  for (const { cells, line } of rows) {
    const position = { line };
    const row: Row = {};
    columns.forEach((column, i) => column && (row[column] = cells[i]));
    const { title = "" } = row;
    draft.attempt(position, title, () => {
      if (
        cells.length < columns.length ||
        cells.slice(columns.length).some((cell) => cell.trim() !== "")
      ) {
        throw draft.fault(position, "columns", `The row has ${cells.length} of ${columns.length}.`);
      }
      readRow(row, position, draft);
    });
  }
}

function readRow(row: Row, position: Position, draft: Draft): void {
  const { title = "", start = "", end = "", speakers } = row;
  if (title.trim() === "") {
    throw draft.fault(position, "title", "May not be empty.");
  }
  const time = (field: "start" | "end", value: string) =>
    draft.time(value, { position, field, title: title.trim() });
  const isTimed = start.trim() !== "" || end.trim() !== "";
  const times = isTimed ? { start: time("start", start), end: time("end", end) } : null;
  const names = speakers?.split(";").filter((name) => name.trim() !== "");
  draft.session({
    position,
    title,
    abstract: row.abstract,
    track: row.track,
    language: row.language,
    room: row.room,
    ...(names && { speakers: names.map((name) => ({ position, name })) }),
    times,
  });
}

function rowsOf(text: string): { cells: string[]; line: number }[] {
  if (text.split(/\r\n?|\n/, MOST_LINES + 1).length > MOST_LINES) {
    throw new UnreadableDocument({ line: MOST_LINES }, `At most ${MOST_LINES} lines are taken.`);
  }
  try {
    const rows = parse(text, {
      bom: true,
      info: true,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      to: MOST_ROWS,
    }) as unknown as { record: string[]; info: { lines: number } }[];
    // Where a row ends: a cell may have several lines.
    return rows.map(({ record, info }) => ({ cells: record, line: info.lines }));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const { lines } = error as unknown as { lines?: number };
    throw new UnreadableDocument({ line: lines ?? 1 }, sentence(error));
  }
}

/** What each column is; undefined for one that is left out. */
function columnsOf(header: string[], draft: Draft): (keyof Row | undefined)[] {
  if (header.length > MOST_COLUMNS) {
    const message = `At most ${MOST_COLUMNS} columns are taken.`;
    throw new UnreadableDocument({ line: 1 }, message);
  }
  const seen = new Set<string>();
  const columns = header.map((cell) => {
    const name = cell.trim().toLowerCase();
    const known = COLUMNS.find((column) => column === name);
    if (known && !seen.has(name)) {
      seen.add(name);
      return known;
    }
    const why = known ? "occurs twice" : "is unknown";
    draft.problem({ line: 1 }, `The column ${quoted(name)} ${why}. It was left out.`);
    return undefined;
  });
  if (seen.has("title")) return columns;
  throw new UnreadableDocument(
    { line: 1 },
    `The header must name the columns: ${COLUMNS.join(",")}.`,
  );
}

const sentence = ({ message }: CsvError): string => {
  const [first = ""] = message.split(/[\r\n]/, 1);
  return `${first.slice(0, 200).replace(/\.$/, "")}.`;
};
