import type { IncomingMessage } from "node:http";
import type { Multipart } from "@fastify/multipart";
import type { FastifyRequest, onRequestHookHandler } from "fastify";
import { FileRefusal } from "../http/errors.js";

/** The file of a form that holds nothing else. */
export interface FormFile {
  name: string;
  /** Its bytes; they end with an error if the form turns out to hold more, or to be broken. */
  bytes: AsyncGenerator<Buffer>;
}

/** Refuses a body that is not a form, before it is read. */
export const refuseOtherThanForms: onRequestHookHandler = (
  { mediaType },
  _reply,
  done,
) => {
  const isForm = mediaType === "multipart/form-data";
  done(isForm ? undefined : new FileRefusal("file.missing"));
};

/**
 * Reads and drops the rest of a refused body: many clients read the answer only
 * after they have sent everything.
 * @param most how many bytes to drop; a client that sends more loses its connection.
 */
export function dropRest(body: IncomingMessage, most: number): void {
  let left = most;
  // The parser of forms may have stopped reading.
  body.unpipe();
  body.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) body.destroy();
  });
  body.resume();
}

/**
 * Opens a form that must have exactly one part: a file named `file`.
 * @throws {FileRefusal} `file.missing`, also while the bytes are read.
 */
export async function openForm(request: FastifyRequest): Promise<FormFile> {
  const parts = request.parts({
    limits: {
      // This also counts parts that the parser skips silently.
      parts: 1,
      // The reader checks the size. A limit here would make the form look broken.
      fileSize: Infinity,
      fieldSize: 1024,
    },
  });
  const part = await nextPart(parts);
  if (part?.type !== "file" || part.fieldname !== "file" || !part.filename) {
    throw new FileRefusal("file.missing");
  }
  return { name: part.filename, bytes: readAll(part.file, parts) };
}

async function* readAll(
  file: AsyncIterable<Buffer>,
  parts: AsyncIterableIterator<Multipart>,
): AsyncGenerator<Buffer> {
  try {
    yield* file;
  } catch {
    throw new FileRefusal("file.missing");
  }
  if (await nextPart(parts)) throw new FileRefusal("file.missing");
}

/** The next part; a form that is broken in any way has no file. */
async function nextPart(
  parts: AsyncIterableIterator<Multipart>,
): Promise<Multipart | undefined> {
  try {
    const next: IteratorResult<Multipart, undefined> = await parts.next();
    return next.value;
  } catch {
    throw new FileRefusal("file.missing");
  }
}

/**
 * Passes bytes on, up to a limit.
 * @throws {FileRefusal} `file.size` at the first byte beyond it.
 */
export async function* atMost(
  limit: number,
  bytes: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > limit) throw new FileRefusal("file.size");
    yield chunk;
  }
}

/**
 * Reads the beginning of a stream of bytes.
 * @param length how many bytes to read.
 * @returns the beginning, and the whole stream, which repeats the beginning.
 */
export async function peek(
  length: number,
  bytes: AsyncGenerator<Buffer>,
): Promise<{ head: Buffer; all: AsyncGenerator<Buffer> }> {
  const chunks: Buffer[] = [];
  let size = 0;
  while (size < length) {
    const next: IteratorResult<Buffer, unknown> = await bytes.next();
    if (next.done) break;
    chunks.push(next.value);
    size += next.value.length;
  }
  const head = Buffer.concat(chunks);
  return { head, all: prepended(head, bytes) };
}

async function* prepended(
  head: Buffer,
  rest: AsyncGenerator<Buffer>,
): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head;
  yield* rest;
}
