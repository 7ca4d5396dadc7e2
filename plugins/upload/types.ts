import { XmlTextDetector } from "@file-type/xml";
import { FileTypeParser } from "file-type";
import type { FileType } from "../../schemas/plain/file-types.js";

// Imported at the start, although many servers need neither. A late import may fail for lack
// of file descriptors, and Node.js never retries a module that failed to open.

/** How much of a file is read to detect its type, in bytes: an SVG may begin with a long comment. */
export const HEAD = 64 * 1024;

/**
 * Whether the content of a file has the type of its extension.
 * @param head its first {@link HEAD} bytes.
 */
export async function isOfType(type: FileType, head: Buffer): Promise<boolean> {
  if (type.found.includes("svg")) return isSvg(head);
  const parser = new FileTypeParser();
  const found = await parser.fromBuffer(head).catch(() => undefined);
  // The tag of an MP3 may be larger than the head, or padded.
  const ext = found?.ext ?? (head.toString("latin1", 0, 3) === "ID3" && "mp3");
  return ext !== false && type.found.includes(ext);
}

/** Looks for the root element, which may follow comments, white space and a document type. */
async function isSvg(head: Buffer): Promise<boolean> {
  const mark = head.toString("latin1", 0, 2);
  const encoding = mark === "\xff\xfe" ? "utf-16le" : mark === "\xfe\xff" ? "utf-16be" : "utf-8";
  const text = new TextDecoder(encoding).decode(head);
  const detector = new XmlTextDetector();
  // In pieces, to stop at the root.
  for (let at = 0; at < text.length && !detector.onEnd; at += 512) {
    detector.write(text.slice(at, at + 512));
  }
  return detector.fileType?.ext === "svg";
}
