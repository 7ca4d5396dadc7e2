import { inflateRawSync } from "node:zlib";

/** The XML of the first sheet of an XLSX file. */
export function sheetOf(file: Buffer): string {
  // The central directory names each member with its size and its place (APPNOTE, 4.3.12).
  for (let at = file.indexOf("PK\x01\x02"); at >= 0; at = file.indexOf("PK\x01\x02", at + 4)) {
    const size = file.readUInt32LE(at + 20);
    const nameSize = file.readUInt16LE(at + 28);
    const name = file.toString("utf8", at + 46, at + 46 + nameSize);
    if (!name.endsWith("worksheets/sheet1.xml")) continue;
    const local = file.readUInt32LE(at + 42);
    const start = local + 30 + file.readUInt16LE(local + 26) + file.readUInt16LE(local + 28);
    const bytes = file.subarray(start, start + size);
    return (file.readUInt16LE(at + 10) === 0 ? bytes : inflateRawSync(bytes)).toString();
  }
  throw new Error("There is no sheet.");
}
