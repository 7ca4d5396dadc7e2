import fastifyStatic from "@fastify/static";
import type { FastifyReply } from "fastify";
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
      return this.sendFile(key);
    });
    app.addHook("onReady", () =>
      files.sweep((key) => app.store.files.has(key)),
    );
    app.addHook("onClose", () => files.close());
  },
  { name: "storage", dependencies: ["store"] },
);
