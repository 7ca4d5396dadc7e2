import { detectXml } from "@file-type/xml";
import { FileTypeParser } from "file-type";
import type { FileType } from "../../schemas/files.js";

/** How much of a file is looked at to tell what it is, in bytes: an SVG may begin with a long comment. */
export const HEAD = 64 * 1024;

const parser = new FileTypeParser({ customDetectors: [detectXml] });

/**
 * Whether the content of a file is what its name says.
 * @param head its first {@link HEAD} bytes.
 */
export async function isOfType(type: FileType, head: Buffer): Promise<boolean> {
  const found = await parser.fromBuffer(head).catch(() => undefined);
  // The tag in front of an MP3 may be larger than what is looked at, or padded.
  const ext = found?.ext ?? (head.toString("latin1", 0, 3) === "ID3" && "mp3");
  return ext !== false && type.found.includes(ext);
}
