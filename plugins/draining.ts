import fp from "fastify-plugin";
import { Refusal } from "./errors.js";

declare module "fastify" {
  interface FastifyInstance {
    /** Whether the server was told to stop. */
    readonly draining: boolean;
    /**
     * Takes no more work, and waits for what is in flight.
     * @param deadline after how many milliseconds it no longer waits.
     */
    drain(deadline: number): Promise<void>;
  }
}

/** Ends the service without breaking off a request. */
export default fp(
  async (app) => {
    let draining = false;
    let inFlight = 0;
    let onIdle = () => {};

    app.decorate("draining", { getter: () => draining });
    const onClose = () => {
      if (--inFlight === 0) onIdle();
    };
    app.server.on("request", (_, response) => {
      inFlight++;
      response.on("close", onClose);
    });

    app.addHook("onRequest", (request, reply, done) => {
      if (!draining) return done();
      reply.header("connection", "close");
      if (request.routeOptions.url === "/healthz") return done();
      const headers = { "retry-after": "5" };
      done(new Refusal(503, "The server is stopping.", headers));
    });

    app.decorate("drain", async (deadline: number) => {
      draining = true;
      if (inFlight === 0) return;
      await new Promise<void>((resolve) => {
        // A timer left behind would keep the process from ending.
        const timer = setTimeout(resolve, deadline);
        onIdle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    });
  },
  { name: "draining", dependencies: ["errors"] },
);
