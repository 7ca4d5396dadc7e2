import { Readable } from "node:stream";

/** How long the next bytes of a file may take, in milliseconds. */
const PATIENCE = 10_000;

/**
 * Passes bytes on as the client reads them. The stream fails if they end early, or stop
 * coming. Time in which the client does not read does not count.
 * @param length the expected number of bytes.
 */
export function exactly(body: Readable, length: number): Readable {
  const bytes = Readable.from(bytesOf(body, length), { objectMode: false });
  // The generator may be waiting for bytes, and sees the end only after them.
  return bytes.once("close", () => body.destroy());
}

async function* bytesOf(
  body: Readable,
  length: number,
): AsyncGenerator<Uint8Array> {
  let left = length;
  let isAwaited = false;
  const timer = setTimeout(() => {
    if (isAwaited) body.destroy(new Error("The file stopped coming."));
  }, PATIENCE);
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  try {
    for (;;) {
      isAwaited = true;
      timer.refresh();
      const next = await chunks.next();
      isAwaited = false;
      if (next.done) break;
      left -= next.value.length;
      yield next.value;
    }
  } finally {
    clearTimeout(timer);
    body.destroy();
  }
  if (left !== 0) throw new Error("The file ended early.");
}
