import fp from "fastify-plugin";
import { Outbound, type OutboundOptions } from "./outbound.js";

declare module "fastify" {
  interface FastifyInstance {
    /** Sends requests to addresses that users named. */
    readonly outbound: Outbound;
  }
}

/** Provides `app.outbound`. */
export default fp<OutboundOptions>(
  async (app, options) => {
    const outbound = new Outbound(options);
    app.decorate("outbound", outbound);
    app.addHook("onClose", () => outbound.close());
  },
  { name: "outbound" },
);
