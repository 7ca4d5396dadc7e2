import fp from "fastify-plugin";
import type { Engines, SharedHealth } from "../db/contract/engines.js";
import type { Events } from "../db/contract/events.js";
import type { FileStore } from "../db/contract/file-store.js";
import type { Store } from "../db/contract/store.js";

declare module "fastify" {
  interface FastifyInstance {
    /** All persistent data except the bytes of files. */
    store: Store;
    /** The bytes of uploaded files. */
    files: FileStore;
    /** Checks the health of the servers that several machines share; undefined if no servers are shared. */
    sharedHealth: (() => SharedHealth) | undefined;
    /** World events from this process and other processes. */
    events: Events;
  }
}

/** Decorates the application with its engines, and closes them along with it. */
export default fp<{ engines: Engines }>(
  async (app, { engines }) => {
    app.decorate("store", engines.store);
    app.decorate("files", engines.files);
    app.decorate("events", engines.events);
    app.decorate("sharedHealth", engines.health);
    app.addHook("onClose", () => engines.close());
  },
  { name: "engines" },
);
