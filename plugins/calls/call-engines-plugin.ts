import fp from "fastify-plugin";
import type { CallSettings } from "../../config.js";
import type { CallEngines } from "./engine.js";
import { openCallEngines } from "./open-engines.js";

declare module "fastify" {
  interface FastifyInstance {
    /** The media servers on which calls run. */
    readonly callEngines: CallEngines;
  }
}

/** Provides `app.callEngines`. An engine that is down does not delay the server's start. */
export default fp<{ settings: CallSettings; engines?: CallEngines | undefined }>(
  async (app, { settings, engines }) => {
    if (engines) {
      app.decorate("callEngines", engines);
      return;
    }
    const opened = await openCallEngines(settings, await observer());
    app.decorate("callEngines", opened);
    app.addHook("onClose", () => opened.close());

    async function observer() {
      if (!app.metrics || Object.keys(settings).length === 0) return undefined;
      const { callMetrics } = await import("./call-metrics.js");
      return callMetrics(app.metrics.registry);
    }
  },
  { name: "call-engines", dependencies: ["http"] },
);
