import type { IncomingMessage } from "node:http";

/**
 * Counts the parts of a form by its delimiters. The parser of forms silently skips a part
 * without a name, so its own count is too low.
 * @returns the count so far; it is complete at the end of the body.
 */
export function partCounter(body: IncomingMessage): () => number {
  const boundary = /;\s*boundary=(?:"([^"]+)"|([^\s";]+))/i.exec(
    body.headers["content-type"] ?? "",
  );
  // Without a match, the parser refuses the form, or this count does.
  const delimiter = Buffer.from(`\r\n--${boundary?.[1] ?? boundary?.[2]}`);
  // The first delimiter may be the first line.
  let rest = Buffer.from("\r\n");
  let delimiters = 0;
  body.on("data", (chunk: Buffer) => {
    const bytes = Buffer.concat([rest, chunk]);
    let at = -delimiter.length;
    while ((at = bytes.indexOf(delimiter, at + delimiter.length)) >= 0) {
      delimiters++;
    }
    // A delimiter may continue in the next chunk.
    rest = bytes.subarray(1 - delimiter.length);
  });
  // The last delimiter ends the form.
  return () => delimiters - 1;
}
