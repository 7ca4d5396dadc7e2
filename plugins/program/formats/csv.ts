import { CsvError, parse } from "csv-parse/sync";
import { UnreadableDocument } from "../../../schemas/documents/unreadable.js";
import { type Draft, quoted } from "./draft.js";

/** The columns of a program. Only the title must be there. */
const COLUMNS = [
  ...["title", "start", "end", "room", "speakers", "track", "abstract"],
  "language",
] as const;
type Row = Partial<Record<(typeof COLUMNS)[number], string>>;

/**
 * Reads a table with a header. Times are in the zone of the world, unless they have an offset.
 * @throws {UnreadableDocument} with the line.
 */
export function readCsv(text: string, draft: Draft): void {
  for (const { record, line } of rowsOf(text, draft)) {
    const position = { line };
    const { title = "", start = "", end = "", speakers } = record;
    const time = (field: "start" | "end", value: string) =>
      draft.time(value, { position, field, title: title.trim() });
    const isTimed = start.trim() !== "" || end.trim() !== "";
    draft.session({
      position,
      title,
      abstract: record.abstract,
      track: record.track,
      language: record.language,
      room: record.room,
      ...(speakers !== undefined && {
        speakers: [
          ...new Set(
            speakers
              .split(";")
              .filter((name) => name.trim() !== "")
              .map((name) => draft.speaker({ position, name })),
          ),
        ],
      }),
      times: isTimed
        ? { start: time("start", start), end: time("end", end) }
        : null,
    });
  }
}

function rowsOf(text: string, draft: Draft): { record: Row; line: number }[] {
  try {
    const rows = parse<{ record: Row; info: { lines: number } }>(text, {
      bom: true,
      columns: (header: string[]) => columnsOf(header, draft),
      info: true,
      skip_empty_lines: true,
    });
    // Where a row ends: a cell may have several lines.
    return rows.map(({ record, info }) => ({ record, line: info.lines }));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const { lines } = error as unknown as { lines?: number };
    throw new UnreadableDocument({ line: lines ?? 1 }, sentence(error));
  }
}

/** What each column is; false for one that is left out. */
function columnsOf(header: string[], draft: Draft): (string | false)[] {
  const names = header.map((name) => name.trim().toLowerCase());
  if (!names.includes("title")) {
    throw new UnreadableDocument(
      { line: 1 },
      `The header must name the columns: ${COLUMNS.join(",")}.`,
    );
  }
  return names.map((name, i) => {
    if (names.indexOf(name) < i && name !== "") {
      throw new UnreadableDocument(
        { line: 1 },
        `The column ${quoted(name)} occurs twice.`,
      );
    }
    if ((COLUMNS as readonly string[]).includes(name)) return name;
    draft.problem(
      { line: 1 },
      `The column ${quoted(name)} is unknown. It was left out.`,
    );
    return false;
  });
}

const sentence = ({ message }: CsvError): string => {
  const [first = ""] = message.split(/[\r\n]/, 1);
  return `${first.slice(0, 200).replace(/\.$/, "")}.`;
};
