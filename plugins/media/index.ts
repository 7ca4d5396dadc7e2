import { Readable } from "node:stream";
import type { FastifyBaseLogger, FastifyReply } from "fastify";
import fp from "fastify-plugin";
import { Refusal } from "../http/errors.js";
import { select } from "./selection.js";

declare module "fastify" {
  interface FastifyReply {
    /**
     * Sends the file that is stored under a key, with ranges, an `ETag` and a year of caching.
     * @throws {Refusal} 404, 412 or 416.
     */
    sendStored(key: string): Promise<FastifyReply>;
  }
}

/** The time between two sweeps, in milliseconds. */
const SWEEP_INTERVAL = 10 * 60_000;

/** A stored file never changes under its URL. */
const FOREVER = "public, max-age=31536000, immutable";

const notFound = () => new Refusal(404, "Not found.");

/** Serves stored files, and sweeps what killed processes left of unfinished ones. */
export default fp(
  async (app) => {
    const { files } = app;
    app.decorateReply("sendStored", async function (this: FastifyReply, key) {
      const { request, log } = this;
      const file = await files.open(key);
      if (!file) {
        void logIfMissing(key, log);
        throw notFound();
      }
      const { size, modified } = file;
      const time = modified.getTime();
      const tag = `W/"${size.toString(16)}-${time.toString(16)}"`;
      const part = select(request, {
        size,
        tag,
        modified: time - (time % 1000),
      });
      const { status } = part;
      if (status === 412) throw new Refusal(412, "It is in another state.");
      if (status === 416) {
        const headers = { "content-range": `bytes */${size}` };
        throw new Refusal(416, "The file has no such part.", headers);
      }
      const range = status === 206 ? part.range : undefined;
      // Nothing below may fail: an error must not be cached for a year.
      // A stream, as Fastify would give any other HEAD answer a length of 0.
      const bytes =
        status === 304 || request.method === "HEAD"
          ? Readable.from([])
          : await file.read(range);
      if (!bytes) throw notFound();
      this.code(status).headers({
        etag: tag,
        "last-modified": modified.toUTCString(),
        "cache-control": FOREVER,
        "accept-ranges": "bytes",
      });
      if (status === 304) return this.removeHeader("content-type").send(bytes);
      const { start, end } = range ?? { start: 0, end: size - 1 };
      this.header("content-length", end - start + 1);
      if (range) this.header("content-range", `bytes ${start}-${end}/${size}`);
      return this.send(bytes);
    });

    /** The operator has to know of a file that is recorded and not there. */
    async function logIfMissing(key: string, log: FastifyBaseLogger) {
      const isRecorded = await app.store.files.has(key).catch(() => false);
      if (isRecorded) {
        log.error(`${key} is recorded, and is missing; run foyer check`);
      }
    }

    // At the start, and then at intervals: a command or another server may have
    // been killed meanwhile.
    async function sweep(): Promise<void> {
      try {
        await files.sweep((key) => app.store.files.has(key));
      } catch (error) {
        app.log.warn({ err: error as Error }, "cannot sweep the work folder");
      }
    }
    const timer = setInterval(() => void sweep(), SWEEP_INTERVAL).unref();
    app.addHook("onReady", sweep);
    app.addHook("onClose", async () => clearInterval(timer));
  },
  { name: "media", dependencies: ["errors", "engines"] },
);
