import fp from "fastify-plugin";
import { Formats } from "./formats.js";
import { Programs } from "./programs.js";

declare module "fastify" {
  interface FastifyInstance {
    /** Imports and exports of whole programs. */
    readonly programs: Programs;
  }
}

/** Imports and exports of whole programs. */
export default fp(
  async (app) => {
    const formats = new Formats();
    app.decorate("programs", new Programs(app.store, formats));
    app.addHook("onClose", async () => formats.close());
  },
  { name: "programs", dependencies: ["engines"] },
);
