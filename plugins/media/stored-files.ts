import { Readable } from "node:stream";
import type { FastifyBaseLogger, FastifyReply } from "fastify";
import fp from "fastify-plugin";
import { detach } from "../../db/runtime.js";
import { typeOf } from "../../schemas/plain/file-types.js";
import { Refusal } from "../http/errors.js";
import { select } from "./selection.js";

declare module "fastify" {
  interface FastifyReply {
    /**
     * Sends the file that is stored under a key, with ranges, an `ETag` and a year of
     * caching. If the store hands out addresses, it sends the client there instead.
     * @throws {Refusal} 404, 412 or 416.
     */
    sendStored(key: string): Promise<FastifyReply>;
  }
}

/** After how many milliseconds a sweep that failed is tried again. */
const SWEEP_RETRY_DELAY_MS = 10_000;

/** A stored file never changes under its URL. */
const FOREVER = "public, max-age=31536000, immutable";

/** For how many seconds an address still works when a client last takes it from its cache. */
const LINK_MARGIN_SECONDS = 600;

/**
 * Whether a file may run scripts. A bucket cannot send the policy that forbids scripts,
 * so Foyer serves such files itself.
 */
const mayRunScripts = (key: string): boolean => typeOf(key)?.document !== undefined;

const notFound = () => new Refusal(404, "Not found.");

/** Serves stored files, and sweeps unfinished files that killed processes left. */
export default fp(
  async (app) => {
    const { files } = app;
    app.decorateReply("sendStored", async function (this: FastifyReply, key) {
      const { request, log } = this;
      const file = await files.open(key);
      if (!file) {
        logIfMissing(key, log).catch((error) => log.error(error));
        throw notFound();
      }
      const { size, modified } = file;
      const time = modified.getTime();
      // It is strong, as the bytes under a key never change: a download can go on by it.
      const tag = `"${size.toString(16)}-${time.toString(16)}"`;
      const part = select(request, { size, tag, modified: time - (time % 1000) });
      const { status } = part;
      if (status === 412) throw new Refusal(412, "It is in another state.");
      if (status === 416) {
        const headers = { "content-range": `bytes */${size}` };
        throw new Refusal(416, "The file has no such part.", headers);
      }
      const isRead = status !== 304 && request.method === "GET";
      if (isRead && file.link && !mayRunScripts(key)) {
        const { url, seconds } = await file.link({
          type: this.getHeader("content-type") as string,
          cacheControl: FOREVER,
        });
        const kept = Math.max(0, seconds - LINK_MARGIN_SECONDS);
        this.header("cache-control", `private, max-age=${kept}`);
        return this.removeHeader("content-type").redirect(url);
      }
      const range = status === 206 ? part.range : undefined;
      // Nothing below may fail: an error must not be cached for a year.
      // A stream, as Fastify would give any other HEAD answer a length of 0.
      const bytes = isRead ? await file.read(range) : Readable.from([]);
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

    // At the start, and then when the store asks for it: a command or another server
    // may have been killed meanwhile.
    let timer: NodeJS.Timeout | undefined;
    let isClosed = false;
    let hasFailed = false;
    async function sweep(): Promise<void> {
      let next = SWEEP_RETRY_DELAY_MS;
      try {
        next = await files.sweep((key) => app.store.files.has(key));
        hasFailed = false;
      } catch (error) {
        // One line for as long as it fails.
        if (!hasFailed && !isClosed) {
          app.log.warn({ err: error as Error }, "cannot sweep unfinished files");
        }
        hasFailed = true;
      }
      if (!isClosed) timer = setTimeout(() => detach(sweep()), next).unref();
    }
    app.addHook("onReady", sweep);
    app.addHook("onClose", async () => {
      isClosed = true;
      clearTimeout(timer);
    });
  },
  { name: "media", dependencies: ["errors", "engines"] },
);
