import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import { Type } from "@sinclair/typebox";
import { Refusal } from "../plugins/errors.js";
import { extensionOf, fileTypes } from "../schemas/files.js";

/** As uploads are named: nothing else is looked for on the disk. */
const WORLD = /^[a-z0-9][a-z0-9-]{0,49}$/;
const NAME = /^[0-9a-f-]{36}\.[\w-]{12}\.[a-z0-9]{3,4}$/;

/** What was uploaded, for everybody who has the link: `/media/pub/…`. */
const media: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    "/media/pub/:world/:name",
    {
      schema: {
        params: Type.Object({ world: Type.String(), name: Type.String() }),
      },
    },
    async (request, reply) => {
      const { world, name } = request.params;
      const type = fileTypes[extensionOf(name)];
      if (!type || !WORLD.test(world) || !NAME.test(name)) {
        throw new Refusal(404, "Not found.");
      }
      reply.headers({
        "content-type": type.mime,
        // On the domain of the world, no file may run a script or load a thing:
        // an SVG and a PDF are documents too.
        "content-security-policy":
          "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; media-src 'self'; sandbox",
      });
      return reply.sendStored(`pub/${world}/${name}`);
    },
  );
};

export default media;
