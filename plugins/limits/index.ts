import fp from "fastify-plugin";
import type { LoadLimits } from "../../config.js";
import overload from "./overload.js";
import rate from "./rate.js";

/** Bounds what clients may ask of the server: 503 for all of them, 429 for one of them. */
export default fp<{ load: LoadLimits }>(
  async (app, { load }) => {
    app.register(overload, { limits: load });
    app.register(rate, { perMinute: load.perMinute });
  },
  { name: "limits" },
);
