import fp from "fastify-plugin";
import type { Store } from "../db/store.js";

declare module "fastify" {
  interface FastifyInstance {
    /** All that the service keeps, except the bytes of files. */
    store: Store;
  }
}

/** Puts the store where routes find it, and closes it with the application. */
export default fp<{ store: Store }>(
  async (app, { store }) => {
    app.decorate("store", store);
    app.addHook("onClose", () => store.close());
  },
  { name: "store" },
);
