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
    app.server.on("request", (_, response) => {
      inFlight++;
      response.once("close", () => {
        if (--inFlight === 0) onIdle();
      });
    });

    app.addHook("onRequest", async (request, reply) => {
      if (!draining) return;
      reply.header("connection", "close");
      if (request.routeOptions.url !== "/healthz") {
        throw new Refusal(503, "The server is stopping.", {
          "retry-after": "5",
        });
      }
    });

    app.decorate("drain", async (deadline: number) => {
      draining = true;
      if (inFlight === 0) return;
      await new Promise<void>((resolve) => {
        onIdle = resolve;
        // It must not keep a process that has nothing left to do.
        setTimeout(resolve, deadline).unref();
      });
    });
  },
  { name: "draining", dependencies: ["errors"] },
);
