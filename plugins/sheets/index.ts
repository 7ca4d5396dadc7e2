import fp from "fastify-plugin";
import { Sheets } from "./sheets.js";

declare module "fastify" {
  interface FastifyInstance {
    /** Makes spreadsheets. */
    readonly sheets: Sheets;
  }
}

/** Spreadsheets of results. */
export default fp(
  async (app) => {
    const sheets = new Sheets(app.files);
    app.decorate("sheets", sheets);
    app.addHook("onClose", async () => sheets.turns.close());
  },
  { name: "sheets", dependencies: ["engines"] },
);
