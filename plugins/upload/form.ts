import type { IncomingMessage } from "node:http";
import multipart, { type Multipart } from "@fastify/multipart";
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from "fastify";
import { FileRefusal } from "../http/errors.js";
import { limitRate } from "../limits/rate.js";

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

/** The box into which an image is scaled down. */
export interface Box {
  width: number;
  height: number;
}

/** The file of a form, and the box that may come with it. */
export interface FormFile {
  name: string;
  /** Its bytes; they end with an error if the form turns out to hold more, or to be broken. */
  bytes: AsyncGenerator<Buffer>;
  /** The box, which is known once all bytes are read; undefined if the form has none. */
  box: () => Box | undefined;
}

/** The text fields that a form may have, and the largest number in them. */
const SIDES = ["width", "height"];
const MAX_SIDE = 10_000;

/**
 * Makes the routes of a scope take forms as streams: no parser reads a body into memory.
 * @param perMinute how many requests of an uploader are taken; `what` names them in the refusal.
 * @param dropped how many bytes of a refused body are read and dropped; a client that sends more
 *   is disconnected.
 * @returns the hooks `onRequest` of these routes.
 */
export async function takeForms(
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

/** Refuses a body that is not a form, before it is read. */
const refuseOtherThanForms: onRequestHookHandler = ({ mediaType }, _reply, done) => {
  const isForm = mediaType === "multipart/form-data";
  done(isForm ? undefined : new FileRefusal("file.missing"));
};

/**
 * Reads and drops the rest of a refused body: many clients read the answer only
 * after they have sent everything.
 * @param most how many bytes to drop; a client that sends more loses its connection.
 */
function dropRest(body: IncomingMessage, most: number): void {
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
 * Opens a form that must have a file named `file` and, in any order, either both or
 * none of the text fields `width` and `height`.
 * @throws {FileRefusal} `file.missing`, also while the bytes are read.
 */
export async function openForm(request: FastifyRequest): Promise<FormFile> {
  const count = partCounter(request.raw);
  const parts = request.parts({
    limits: {
      parts: 1 + SIDES.length,
      // The reader checks the size. A limit here would make the form look broken.
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

/** Takes a width or a height, each once. */
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

/** @param finish reads the rest of the form. */
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

/** The next part; a form that is broken in any way has no file. */
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
 * @throws {FileRefusal} `file.size` at the first byte beyond it.
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

async function* prepended(head: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head;
  yield* rest;
}
