import type { IncomingMessage } from "node:http";
import multipart, { type Multipart } from "@fastify/multipart";
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from "fastify";
import { FileRefusal } from "../http/errors.js";
import { limitRate } from "../limits/request-rate.js";

/**
 * Counts the parts of a form by its delimiters. The form parser silently skips parts without a
 * name, so its own count is too low.
 * @returns a function that reads the count so far. The count is final at the end of the body.
 */
export function partCounter(body: IncomingMessage): () => number {
  const boundary = /;\s*boundary=(?:"([^"]+)"|([^\s";]+))/i.exec(
    body.headers["content-type"] ?? "",
  );
  // Without a match, either the parser rejects the form, or the form is rejected because the count
  // is wrong.
  const delimiter = Buffer.from(`\r\n--${boundary?.[1] ?? boundary?.[2]}`);
  // The first delimiter may be at the very start of the body.
  let rest = Buffer.from("\r\n");
  let delimiters = 0;
  body.on("data", (chunk: Buffer) => {
    const bytes = Buffer.concat([rest, chunk]);
    let at = -delimiter.length;
    while ((at = bytes.indexOf(delimiter, at + delimiter.length)) >= 0) {
      delimiters++;
    }
    // A delimiter may span two chunks.
    rest = bytes.subarray(1 - delimiter.length);
  });
  // The last delimiter closes the form.
  return () => delimiters - 1;
}

/** The box that an image is scaled down to fit. */
export interface Box {
  width: number;
  height: number;
}

/** A form's file, and the optional box. */
export interface FormFile {
  name: string;
  /** The file's content. The stream fails if the form turns out to be malformed or to contain unexpected parts. */
  bytes: AsyncGenerator<Buffer>;
  /** Returns the box, which is known once all bytes have been read, or undefined if the form has no box. */
  box: () => Box | undefined;
}

/** The text fields that a form may have, and their maximum value. */
const SIDES = ["width", "height"];
const MAX_SIDE = 10_000;

/**
 * Makes a scope's routes accept forms as streams: no parser reads a body into memory.
 * @param perMinute the maximum number of requests per uploader; `what` names the requests in the
 * refusal.
 * @param dropped how many bytes of a refused body to read and discard; a client that sends more
 * bytes is disconnected.
 * @returns the `onRequest` hooks for these routes.
 */
export async function acceptForms(
  app: FastifyInstance,
  { dropped, ...rate }: { perMinute: number; what: string; dropped: number },
): Promise<onRequestHookHandler[]> {
  app.removeAllContentTypeParsers();
  await app.register(multipart);
  app.addHook("onError", async function dropBody({ raw }) {
    dropRest(raw, dropped);
  });
  const limitUploader = limitRate({
    ...rate,
    keyOf: ({ world, uploader: { tokenId, clientId } }) =>
      JSON.stringify([world?.value.id, tokenId, clientId]),
  });
  return [limitUploader, refuseOtherThanForms];
}

/** Rejects a body that is not a form before reading it. */
const refuseOtherThanForms: onRequestHookHandler = ({ mediaType }, _reply, done) => {
  const isForm = mediaType === "multipart/form-data";
  done(isForm ? undefined : new FileRefusal("file.missing"));
};

/**
 * Reads and discards the rest of a refused body: many clients read the response only after they
 * have sent the whole body.
 * @param most how many bytes to discard; a client that sends more bytes is disconnected.
 */
function dropRest(body: IncomingMessage, most: number): void {
  let left = most;
  // The form parser may have stopped reading.
  body.unpipe();
  body.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) body.destroy();
  });
  body.resume();
}

/**
 * Opens a form that must have a file named `file` and, in any order, either both or neither of the
 * text fields `width` and `height`.
 * @throws {FileRefusal} `file.missing`, also while the bytes are read.
 */
export async function openForm(request: FastifyRequest): Promise<FormFile> {
  const count = partCounter(request.raw);
  const parts = request.parts({
    limits: {
      parts: 1 + SIDES.length,
      // The code that reads the bytes enforces the file's maximum size. A limit here would make the
      // form look malformed.
      fileSize: Infinity,
      fieldSize: 1024,
    },
  });
  const sides = new Map<string, number>();
  let part = await nextPart(parts);
  for (; part?.type === "field"; part = await nextPart(parts)) {
    addSide(sides, part);
  }
  if (part?.fieldname !== "file" || !part.filename) {
    throw new FileRefusal("file.missing");
  }
  return {
    name: part.filename,
    bytes: readAll(part.file, async () => {
      let rest: Multipart | undefined;
      while ((rest = await nextPart(parts))) addSide(sides, rest);
      const isWhole = sides.size === 0 || sides.size === SIDES.length;
      if (!isWhole || count() !== 1 + sides.size) {
        throw new FileRefusal("file.missing");
      }
    }),
    box: () => {
      const [width, height] = SIDES.map((side) => sides.get(side));
      return width && height ? { width, height } : undefined;
    },
  };
}

/** Adds a width or a height. Each of the two may occur only once. */
function addSide(sides: Map<string, number>, part: Multipart): void {
  const { type, fieldname } = part;
  const isSide = type === "field" && SIDES.includes(fieldname);
  if (!isSide || sides.has(fieldname)) throw new FileRefusal("file.missing");
  const { value } = part;
  const isNumber = typeof value === "string" && /^[1-9]\d{0,4}$/.test(value);
  if (!isNumber || Number(value) > MAX_SIDE) {
    throw new FileRefusal("file.missing");
  }
  sides.set(fieldname, Number(value));
}

/**
 * Yields the file's bytes, then checks the rest of the form.
 * @param finish reads the rest of the form.
 */
async function* readAll(
  file: AsyncIterable<Buffer>,
  finish: () => Promise<void>,
): AsyncGenerator<Buffer> {
  try {
    yield* file;
  } catch {
    throw new FileRefusal("file.missing");
  }
  await finish();
}

/** Returns the next part. Any malformed form counts as a form without a file. */
async function nextPart(parts: AsyncIterableIterator<Multipart>): Promise<Multipart | undefined> {
  try {
    const next: IteratorResult<Multipart, undefined> = await parts.next();
    return next.value;
  } catch {
    throw new FileRefusal("file.missing");
  }
}

/**
 * Passes bytes on, up to a limit.
 * @throws {FileRefusal} `file.size` at the first byte beyond the limit.
 */
export async function* atMost(limit: number, bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > limit) throw new FileRefusal("file.size");
    yield chunk;
  }
}

/**
 * Reads the start of a byte stream.
 * @param length how many bytes to read at least, unless the stream is shorter.
 * @returns the start, and the whole stream, including the start.
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

async function* prepended(head: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head;
  yield* rest;
}
