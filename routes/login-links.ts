import type { FastifyPluginAsync } from "fastify";
import { IdentityError } from "../plugins/auth/identity.js";
import { linkTo } from "../schemas/plain/links.js";

/** Short addresses with a token, as screens have them: `/login/<token>`. */
const routes: FastifyPluginAsync = async (app) => {
  app.get("/login/:token", { config: { requires: "public" } }, async (request, reply) => {
    const { token } = request.params as { token: string };
    if (!TOKEN.test(token)) return reply.callNotFound();
    reply.headers({ "cache-control": "no-store", "referrer-policy": "no-referrer" });
    const { base: address } = request;
    const world = await worldOf(token);
    // The page says what is wrong with a token that no world has signed.
    const page =
      world === undefined
        ? `${address}/#token=${token}`
        : linkTo("event", { address, world, token });
    return reply.redirect(page, 303);
  });

  /** The id of the world that a token is of; undefined if none proves it. */
  async function worldOf(token: string): Promise<string | undefined> {
    const credentials = { token, screens: true, anywhere: true };
    try {
      return (await app.identify(credentials, "")).world.value.id;
    } catch (error) {
      if (error instanceof IdentityError) return undefined;
      throw error;
    }
  }
};

/** Three parts, as a token has them, so that nothing else gets into an address. */
const TOKEN = /^[\w-]{2,}\.[\w-]{2,8000}\.[\w-]{2,2000}$/;

export default routes;
