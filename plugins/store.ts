import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import fp from "fastify-plugin";
import type { Store } from "../db/store.js";

declare module "fastify" {
  interface FastifyInstance {
    /** All that the service keeps. */
    store: Store;
  }
}

/** Puts the store where routes find it, and closes it with the application. */
export default fp<{ store: Store }>(
  async (app, { store }) => {
    app.decorate("store", store);

    // The requests that one turn of the event loop takes from their sockets were
    // sent before it began, and all of them may be answered as of then. Only one
    // that follows another on its connection at once may have been sent later.
    let last: Socket | undefined;
    app.server.prependListener("request", ({ socket }: IncomingMessage) => {
      if (socket === last) store.lookAgain();
      last = socket;
      store.lookOnce();
    });

    app.addHook("onClose", () => store.close());
  },
  { name: "store" },
);
