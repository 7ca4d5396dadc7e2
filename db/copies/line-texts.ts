import { closeSync, openSync, readSync } from "node:fs";
import type { Lines } from "../contract/copies.js";
import { StoreError } from "../contract/store.js";

/** About how many bytes are read at once. */
const CHUNK = 1024 * 1024;

/** The longest line, in bytes. A text of the API has at most a few million characters. */
const LONGEST = 64 * 1024 * 1024;

/** Reads lines without waiting for anything but the disk, as a transaction may be open. */
export function* textsIn(lines: Lines): Generator<string, void> {
  if ("lines" in lines) {
    yield* lines.lines;
    return;
  }
  const isOpen = typeof lines.file === "number";
  const file = isOpen ? lines.file : openSync(lines.file, "r");
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    let pieces: Buffer[] = [];
    let length = 0;
    let line = 1;
    const refuse = (fault: string) =>
      new StoreError("unfit", `Line ${line}: ${fault}`);
    const text = () => {
      try {
        return decoder.decode(Buffer.concat(pieces));
      } catch {
        throw refuse("is not UTF-8.");
      }
    };
    let position = 0;
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK);
      const size = readSync(file, chunk, 0, CHUNK, position);
      if (size === 0) break;
      position += size;
      let begin = 0;
      while (begin < size) {
        const end = chunk.subarray(0, size).indexOf(10, begin);
        const piece = chunk.subarray(begin, end === -1 ? size : end);
        pieces.push(piece);
        length += piece.length;
        if (length > LONGEST) throw refuse(`has more than ${LONGEST} bytes.`);
        if (end === -1) break;
        yield text();
        line++;
        pieces = [];
        length = 0;
        begin = end + 1;
      }
    }
    if (length > 0) yield text();
  } finally {
    if (!isOpen) closeSync(file);
  }
}
