import { Readable } from "node:stream";
import type { FastifyBaseLogger, FastifyReply } from "fastify";
import fp from "fastify-plugin";
import { detach } from "../../db/runtime.js";
import { mimeTypeOf, typeOf } from "../../schemas/plain/file-types.js";
import { Refusal } from "../http/errors.js";
import { select } from "./selection.js";

declare module "fastify" {
  interface FastifyReply {
    /**
     * Sends the file stored under a key, with ranges, an `ETag` and a cache lifetime of a year.
     * Redirects the client instead if the store provides links.
     * @param preview a key to send instead, if there is such a file.
     * @throws {Refusal} 404, 412 or 416.
     */
    sendStored(key: string, preview?: string): Promise<FastifyReply>;
  }
}

/** Retry delay after a failed sweep, in milliseconds. */
const SWEEP_RETRY_DELAY_MS = 10_000;

/** A stored file never changes under its URL. */
const FOREVER = "public, max-age=31536000, immutable";

/** Minimum remaining validity of a link that a client reads from its cache, in seconds. */
const LINK_MARGIN_SECONDS = 600;

/**
 * Whether a file may run scripts. A bucket cannot send the policy that blocks scripts, so Foyer
 * serves these files itself.
 */
const mayRunScripts = (key: string): boolean => typeOf(key)?.document !== undefined;

const notFound = () => new Refusal(404, "Not found.");

/** Serves stored files, and sweeps unfinished files left by killed processes. */
export default fp(
  async (app) => {
    const { files } = app;
    app.decorateReply("sendStored", async function (this: FastifyReply, original, preview) {
      const { request, log } = this;
      const small = preview === undefined ? undefined : await files.open(preview);
      const key = small ? preview! : original;
      const file = small ?? (await files.open(key));
      if (!file) {
        logIfMissing(key, log).catch((error) => log.error(error));
        throw notFound();
      }
      this.header("content-type", mimeTypeOf(key));
      const { size, modified } = file;
      const time = modified.getTime();
      // The tag is strong, because the bytes under a key never change. A strong tag lets
      // interrupted downloads resume.
      const tag = `"${size.toString(16)}-${time.toString(16)}"`;
      const part = select(request, { size, tag, modified: time - (time % 1000) });
      const { status } = part;
      if (status === 412) throw new Refusal(412, "It is in a different state.");
      if (status === 416) {
        const headers = { "content-range": `bytes */${size}` };
        throw new Refusal(416, "The file has no such range.", headers);
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
      // Nothing below may fail, because an error must not be cached for a year. An empty body is a
      // stream, because otherwise Fastify would set a HEAD response's length to 0.
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

    /** Logs an error if a file is recorded but missing, so that the operator learns of the loss. */
    async function logIfMissing(key: string, log: FastifyBaseLogger) {
      const isRecorded = await app.store.files.has(key).catch(() => false);
      if (isRecorded) {
        log.error(`${key} is recorded, and is missing; run foyer check`);
      }
    }

    // Sweeps at startup, and then whenever the store asks for another sweep, because a command or
    // another server may have been killed since the last sweep.
    let timer: NodeJS.Timeout | undefined;
    let isClosed = false;
    let hasFailed = false;
    async function sweep(): Promise<void> {
      let next = SWEEP_RETRY_DELAY_MS;
      try {
        next = await files.sweep((key) => app.store.files.has(key));
        hasFailed = false;
      } catch (error) {
        // Log only the first of consecutive failures.
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
