import fp from "fastify-plugin";
import type { Engines, SharedHealth } from "../db/contract/engines.js";
import type { Events } from "../db/contract/events.js";
import type { FileStore } from "../db/contract/file-store.js";
import type { Store } from "../db/contract/store.js";

declare module "fastify" {
  interface FastifyInstance {
    /** Everything that the service keeps, except the bytes of files. */
    store: Store;
    /** The bytes of uploaded files. */
    files: FileStore;
    /** Looks at the servers that several machines share; undefined if none does. */
    sharedHealth: (() => SharedHealth) | undefined;
    /** The events of worlds, from this process and from others. */
    events: Events;
  }
}

/** Decorates the application with its engines, and closes them with it. */
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
