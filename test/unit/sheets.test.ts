import { strToU8, zipSync } from "fflate";
import t from "tap";
import writeExcelFile from "write-excel-file/node";
import { isWorkbook, sheetRows, UnreadableSheet } from "../../schemas/plain/sheets/sheets.js";
import { separatorOf, textOf } from "../../schemas/plain/sheets/tables.js";

// Workbooks and tables that people upload: reads them as spreadsheet programs display them, and
// rejects malicious ones.

const MIB = 1024 * 1024;

/** Makes a workbook of one sheet from the XML of its rows. */
const workbook = (rows: string, more: Record<string, string> = {}): Uint8Array =>
  zipSync(
    Object.fromEntries(
      Object.entries({
        "xl/workbook.xml": `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="A" sheetId="1" r:id="rId1"/></sheets></workbook>`,
        "xl/_rels/workbook.xml.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
        "xl/worksheets/sheet1.xml": `<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>${rows}</sheetData></worksheet>`,
        ...more,
      }).map(([name, text]) => [name, strToU8(text)]),
    ),
  );

const inline = (text: string, at = "A1") =>
  `<row r="1"><c r="${at}" t="inlineStr"><is><t>${text}</t></is></c></row>`;

/** Returns the fault of a workbook. */
const faultOf = async (bytes: Uint8Array) => {
  try {
    await sheetRows(bytes);
    return undefined;
  } catch (error) {
    if (!(error instanceof UnreadableSheet)) throw error;
    return error.fault;
  }
};

void t.test("a workbook's cells are read as text", async (t) => {
  const day = new Date(Date.UTC(2026, 10, 28));
  const time = new Date(Date.UTC(2026, 10, 28, 9, 30));
  const bytes = await writeExcelFile([
    [{ value: "title" }, { value: "start" }, { value: "day" }, { value: "seats" }],
    [
      { value: "Günther Groß 🎈", type: String },
      { value: time, type: Date, format: "dd.mm.yyyy hh:mm" },
      { value: day, type: Date, format: "d. mmmm yyyy" },
      { value: 42, type: Number },
    ],
    [{ value: "=1+1", type: String }, null, null, { value: true, type: Boolean }],
  ]).toBuffer();
  t.ok(isWorkbook(bytes));
  // Excel adds a theme, whose attributes have different meanings.
  const theme = `<a:theme xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:fillToRect l="50000" t="-80000" r="50000" b="180000"/></a:theme>`;
  const drawn = workbook(inline("title"), { "xl/theme/theme1.xml": theme });
  t.strictSame(await sheetRows(drawn), [["title"]]);
  t.strictSame(await sheetRows(bytes), [
    ["title", "start", "day", "seats"],
    ["Günther Groß 🎈", "2026-11-28T09:30", "2026-11-28", "42"],
    ["=1+1", "", "", "true"],
  ]);
});

void t.test("a workbook that is a trap or no workbook is refused", async (t) => {
  const bomb = workbook(inline(" ".repeat(80 * MIB)));
  t.ok(bomb.length < MIB, "80 MiB are packed into less than one");
  // The sizes in the archive's directory claim that it is small.
  const lie = Buffer.from(bomb);
  const big = Buffer.alloc(4);
  for (let at = 0; at < lie.length - 4; at++) {
    if (lie.readUInt32LE(at) !== 0x02014b50) continue;
    if (lie.readUInt32LE(at + 24) > MIB) big.copy(lie, at + 24);
  }
  const sheet = `<worksheet><sheetData>${inline("x", "A999999999")}</sheetData></worksheet>`;
  const rels = `<Relationships><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="a.xml"/></Relationships>`;
  const elsewhere = workbook("", { "xl/_rels/workbook.xml.rels": rels, "xl/a.xml": sheet });
  const entities = `<?xml version="1.0"?><!DOCTYPE w [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><worksheet><sheetData>${inline("&b;")}</sheetData></worksheet>`;
  for (const [name, bytes, fault] of [
    ["a zip bomb", bomb, "large"],
    ["a zip bomb that says it is small", lie, "damaged"],
    ["a cell in row 1048576", workbook(inline("x", "A1048576")), "large"],
    ["a cell in column XFD", workbook(inline("x", "XFD1")), "large"],
    ["a cell far away in a sheet that lies elsewhere", elsewhere, "large"],
    ["a row that only computers read", workbook('<row r="1e9"></row>'), "damaged"],
    ["a row without end", workbook('<row r="Infinity"></row>'), "damaged"],
    ["a row in other words", workbook("<row x=' r=\"1\"' r='&#49;e9'></row>"), "damaged"],
    ["a column of other letters", workbook(inline("x", "\uFFFF1")), "damaged"],
    ["an old Excel file", Uint8Array.of(0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1), "old"],
    ["a document of Word", zipSync({ "word/document.xml": strToU8("<w/>") }), "other"],
    ["half a workbook", workbook(inline("x")).subarray(0, 300), "damaged"],
    ["a sheet that is no XML", workbook("<row><c"), "damaged"],
  ] as const) {
    t.equal(await faultOf(bytes), fault, name);
  }
  const read = await sheetRows(workbook("", { "xl/worksheets/sheet1.xml": entities })).catch(
    (error: unknown) => error,
  );
  t.notMatch(JSON.stringify(read), /aaaa/, "entities of a document are not expanded");
});

void t.test("10,000 rows are read", async (t) => {
  const row = (i: number) =>
    `<row r="${i}">${[..."ABCDEFGHIJ"].map((c) => `<c r="${c}${i}"><v>${i}</v></c>`).join("")}</row>`;
  const rows = await sheetRows(
    workbook(Array.from({ length: 10_000 }, (_, i) => row(i + 1)).join("")),
  );
  t.equal(rows.length, 10_000);
  t.equal(rows[9_999]![9], "10000");
});

void t.test("a text file is decoded as its program encoded it", async (t) => {
  const text = "Größe;€";
  const utf16 = Buffer.from(`\uFEFF${text}`, "utf16le");
  for (const [name, bytes] of [
    ["UTF-8", Buffer.from(text)],
    ["UTF-8 with a mark", Buffer.from(`\uFEFF${text}`)],
    ["Windows-1252", Buffer.from([0x47, 0x72, 0xf6, 0xdf, 0x65, 0x3b, 0x80])],
    ["UTF-16", utf16],
    ["UTF-16, big-endian", Buffer.from(utf16).swap16()],
  ] as const) {
    t.equal(textOf(bytes), text, name);
  }
});

void t.test("the separator of a table is that of its header", async (t) => {
  for (const [text, separator] of [
    ["title,start\nA;b;c,1", ","],
    ["title;start\nA,b,c;1", ";"],
    ['"a,b";c\r\n', ";"],
    ["title\tstart\n", "\t"],
    ["\n\ntitle;room\n", ";"],
    ["title\n", ","],
  ] as const) {
    t.equal(separatorOf(text), separator, text);
  }
});
