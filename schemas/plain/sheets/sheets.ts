import { strFromU8, unzipSync, zipSync } from "fflate";
import { type CellValue, readSheet } from "read-excel-file/universal";

// Reads the first sheet of an Excel workbook, on the server and in the console. Both load this file
// only when a person sends a workbook.

/** Why a workbook cannot be read. */
export type SheetFault = "old" | "other" | "large" | "damaged";

const SENTENCES: Record<SheetFault, string> = {
  old: "This is an old Excel file (.xls), or one with a password. Save it as .xlsx or as CSV.",
  other: "This is not an Excel workbook. Save it as .xlsx or as CSV.",
  large: "The workbook is too large.",
  damaged: "The workbook is damaged. Save it again in Excel, or as CSV.",
};

/** Thrown for a workbook that cannot be read. The message is an English sentence. */
export class UnreadableSheet extends Error {
  constructor(
    readonly fault: SheetFault,
    options?: ErrorOptions,
  ) {
    super(SENTENCES[fault], options);
  }
}

/** Maximum size of a workbook's parts after they are unpacked, in bytes: a compressed file may unpack to gigabytes. */
const MAX_UNPACKED = 64 * 1024 * 1024;

/** The bounds of a sheet. A single cell far below or to the right of the others would fill the memory with empty ones. */
const MAX_ROWS = 25_000;
const MAX_COLUMNS = 200;

/** Whether a file is a ZIP archive, as workbooks are, or an old binary Excel file. CSV never begins like this. */
export const isWorkbook = (bytes: Uint8Array): boolean =>
  startsWith(bytes, [0x50, 0x4b, 3, 4]) || startsWith(bytes, [0xd0, 0xcf, 0x11, 0xe0]);

/**
 * Returns the rows of a workbook's first sheet as text, with empty cells as "". Dates and times are
 * local: "2026-11-28", "2026-11-28T09:30" or "09:30".
 * @throws {UnreadableSheet}
 */
export async function sheetRows(bytes: Uint8Array): Promise<string[][]> {
  if (startsWith(bytes, [0xd0, 0xcf])) throw new UnreadableSheet("old");
  const parts = partsOf(bytes);
  if (!("xl/workbook.xml" in parts) && !("xl/_rels/workbook.xml.rels" in parts)) {
    throw new UnreadableSheet("other");
  }
  Object.values(parts).forEach(refuseDistantCells);
  // Packed again without compression: the package would unpack large parts in workers, which the
  // pages' policy forbids.
  const packed = zipSync(parts, { level: 0 });
  try {
    const rows = await readSheet(new Blob([packed as BlobPart]));
    return rows.map((row) => row.map(textOf));
  } catch (error) {
    throw new UnreadableSheet("damaged", { cause: error });
  }
}

const startsWith = (bytes: Uint8Array, magic: readonly number[]): boolean =>
  magic.every((byte, i) => bytes[i] === byte);

/** Matches the parts that hold texts, cells, and where they are: not themes, drawings or charts. */
const PART =
  /^xl\/(?:worksheets\/)?[^/]*\.xml$|^xl\/_rels\/workbook\.xml\.rels$|^\[Content_Types\]\.xml$/i;

/** Unpacks the XML parts of a workbook. The sizes in the directory of the archive are checked first; unpacking writes no more than these. */
function partsOf(bytes: Uint8Array): Record<string, Uint8Array> {
  let size = 0;
  try {
    return unzipSync(bytes, {
      filter: ({ name, originalSize }) => {
        if (!PART.test(name)) return false;
        size += originalSize + 1000;
        if (size > MAX_UNPACKED) throw new UnreadableSheet("large");
        return true;
      },
    });
  } catch (error) {
    throw error instanceof UnreadableSheet
      ? error
      : new UnreadableSheet("damaged", { cause: error });
  }
}

/** Matches the beginning of each attribute `r`, also in other attributes and in texts, where it does no harm. */
const REFERENCE = /(?<!\sxmlns)[\s:]r=["']([^"']*)/g;

const POSITION = /^([A-Z]{0,3})(\d+)$/;

/**
 * Refuses positions of rows and cells that are far away, or that the package reads as something
 * else, such as `1e9`. Any part may be a sheet: the workbook says which.
 */
function refuseDistantCells(part: Uint8Array): void {
  for (const [, reference = ""] of strFromU8(part).matchAll(REFERENCE)) {
    const [, column = "", row] = POSITION.exec(reference) ?? [];
    if (row === undefined) throw new UnreadableSheet("damaged");
    const number = [...column].reduce((sum, it) => sum * 26 + it.charCodeAt(0) - 64, 0);
    if (Number(row) > MAX_ROWS || number > MAX_COLUMNS) throw new UnreadableSheet("large");
  }
}

const DAY_MS = 24 * 3600 * 1000;

/** The day on which a cell falls that has a time and no date: workbooks count days from 1900. */
const FIRST_DAY = "1899-12-3";

function textOf(cell: CellValue<number> | Date | null | undefined): string {
  // The type of the package names the constructor of dates instead of dates.
  if (cell === null || cell === undefined || typeof cell === "function") return "";
  if (!(cell instanceof Date)) return String(cell);
  // Fractions of a day are seldom exact.
  const text = new Date(Math.round(cell.getTime() / 1000) * 1000).toISOString();
  const [day = "", time = ""] = text.slice(0, -5).split("T");
  const clock = time.replace(/:00$/, "");
  if (day.startsWith(FIRST_DAY)) return clock;
  return cell.getTime() % DAY_MS === 0 ? day : `${day}T${clock}`;
}
