import type { ReadStream } from "node:fs";
import fastifyStatic from "@fastify/static";
import type { FastifyBaseLogger, FastifyReply } from "fastify";
import fp from "fastify-plugin";
import type { LocalFiles } from "../db/local-files.js";
import type { FileStore } from "../db/files.js";

declare module "fastify" {
  interface FastifyInstance {
    /** The bytes of uploaded files. */
    files: FileStore;
  }
  interface FastifyReply {
    /** Sends the bytes under a key, with ranges, an `ETag` and a year of caching; 404 where there are none. */
    sendStored(key: string): FastifyReply;
  }
}

/** How often what a killed process left is looked for, in milliseconds. */
const SWEEP_INTERVAL = 10 * 60_000;

/** Keeps uploaded bytes, and hides where. */
export default fp<{ files: LocalFiles }>(
  async (app, { files }) => {
    app.decorate("files", files);
    await app.register(fastifyStatic, {
      root: files.root,
      serve: false,
      dotfiles: "ignore",
      immutable: true,
      maxAge: "365d",
    });
    app.decorateReply("sendStored", function (this: FastifyReply, key) {
      const { raw, log } = this;
      // Whoever was promised more than comes would take what is answered next
      // for the rest of it.
      raw.once("pipe", (bytes: ReadStream) => {
        bytes.prependOnceListener("end", () => {
          if (bytes.bytesRead >= Number(this.getHeader("content-length")))
            return;
          log.error(`${key} ended early: it was cut while it was sent`);
          raw.destroy();
        });
      });
      raw.once("finish", () => {
        if (this.statusCode === 404) void tellIfMissing(key, log);
      });
      return this.sendFile(key);
    });

    /** A link that was given out and leads nowhere is for the operator to know. */
    async function tellIfMissing(key: string, log: FastifyBaseLogger) {
      const isRecorded = await app.store.files.has(key).catch(() => false);
      if (isRecorded) {
        log.error(`${key} is recorded, and is missing; run foyer check`);
      }
    }

    // Also now and then: a command or another server may have been killed.
    async function sweep(): Promise<void> {
      try {
        await files.sweep((key) => app.store.files.has(key));
      } catch (error) {
        app.log.warn({ err: error as Error }, "cannot sweep the work folder");
      }
    }
    const timer = setInterval(() => void sweep(), SWEEP_INTERVAL).unref();
    app.addHook("onReady", sweep);
    app.addHook("onClose", async () => {
      clearInterval(timer);
      await files.close();
    });
  },
  { name: "storage", dependencies: ["store"] },
);
