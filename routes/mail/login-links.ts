import type { FastifyPluginAsync } from "fastify";
import { IdentityError } from "../../plugins/auth/identity.js";
import { linkTo } from "../../schemas/plain/links.js";

/** Short URLs with a token, for screens: `/login/<token>`. */
const routes: FastifyPluginAsync = async (app) => {
  app.get("/login/:token", { config: { requires: "public" } }, async (request, reply) => {
    const { token } = request.params as { token: string };
    if (!TOKEN.test(token)) return reply.callNotFound();
    reply.headers({ "cache-control": "no-store", "referrer-policy": "no-referrer" });
    const { base: address } = request;
    const world = await worldOf(token);
    // For a token that no world has signed, the page reports the problem.
    const page =
      world === undefined
        ? `${address}/#token=${token}`
        : linkTo("event", { address, world, token });
    return reply.redirect(page, 303);
  });

  /** Returns the id of the world that signed a token, or undefined if the token is not valid. */
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

/** Matches the three parts of a token, which keeps any other text out of the redirect URL. */
const TOKEN = /^[\w-]{2,}\.[\w-]{2,8000}\.[\w-]{2,2000}$/;

export default routes;
