import type { FastifyPluginAsync } from "fastify";
import { Refusal } from "../plugins/http/errors.js";
import { networkOf } from "../plugins/limits/guests.js";
import { Tally } from "../plugins/limits/request-rate.js";
import { codeIn, inviteLink } from "../schemas/plain/links.js";

/**
 * Maximum number of wrong codes from one network in ten minutes, and from all networks in one
 * minute, in this process. Above the second number, a network that has sent a wrong code must wait.
 * This slows down distributed guessing, while people who type the right code still get in.
 */
const WRONG_PER_NETWORK = 10;
const NETWORK_WINDOW_MS = 600_000;
const WRONG_PER_MINUTE = 300;
const SERVER_WINDOW_MS = 60_000;

/** The network of callers on this machine. */
const THIS_MACHINE = "this machine";

/** Short URLs for links that admit people without a name: `/j/<code>`. */
const routes: FastifyPluginAsync = async (app) => {
  const networks = new Tally();
  const server = new Tally();

  app.get("/j/:code", { config: { requires: "public" } }, async (request, reply) => {
    reply.headers({ "cache-control": "no-store", "referrer-policy": "no-referrer" });
    const network = siteOf(app.guests.addressOf(request.raw));
    expectFewWrong(network);
    const { code = "" } = request.params as { code?: string };
    const found = await inviteOf(code);
    // Concurrent requests may all have passed the first check.
    expectFewWrong(network);
    const { base: address } = request;
    if (found) return reply.redirect(inviteLink({ address, world: found.world }, found.token), 303);
    networks.count(network, NETWORK_WINDOW_MS);
    server.count("", SERVER_WINDOW_MS);
    return reply.callNotFound();
  });

  /** @throws {Refusal} 429 if a network has sent too many wrong codes. */
  function expectFewWrong(network: string): void {
    const wrong = networks.peek(network, NETWORK_WINDOW_MS);
    const all = server.peek("", SERVER_WINDOW_MS);
    // Behind a proxy on this machine, all callers may have the same address.
    const most = network === THIS_MACHINE ? Infinity : WRONG_PER_NETWORK;
    if (wrong.count >= most) throw tooMany(wrong.ttl);
    if (wrong.count > 0 && all.count >= WRONG_PER_MINUTE) throw tooMany(all.ttl);
  }

  /**
   * Returns the valid invite with a code. At login, its room decides whether to admit the person.
   */
  async function inviteOf(typed: string) {
    const code = codeIn(typed);
    const invite = code === undefined ? undefined : await app.store.invites.byCode(code);
    return invite && invite.ends > Date.now() ? invite : undefined;
  }
};

/** Returns the network that counts as one caller: an IPv4 address, or an IPv6 /48 prefix. */
function siteOf(address: string): string {
  const network = networkOf(address) ?? THIS_MACHINE;
  return network.endsWith("/64") ? network.split(":").slice(0, 3).join(":") : network;
}

const tooMany = (ttl: number): Refusal =>
  new Refusal(429, "Too many wrong codes. Try again later.", {
    "retry-after": String(Math.ceil(ttl / 1000)),
  });

export default routes;
