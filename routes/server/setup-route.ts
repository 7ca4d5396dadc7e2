import type { FastifyPluginAsync } from "fastify";
import { StoreError } from "../../db/contract/store.js";
import { eventFaults } from "../../db/rules/program-checks.js";
import { createWorld, draftWorld, inviteHost, signInvitation } from "../../db/world-management.js";
import { setupGuard, used } from "../../plugins/setup.js";
import { linkTo } from "../../schemas/plain/links.js";
import { domain as domainText, textFault } from "../../schemas/plain/texts.js";
import { SetUp, SetupDraft } from "../../schemas/servers.js";
import { InvalidData } from "../../schemas/validate.js";
import { ref } from "../../schemas/values.js";
import { endpoint } from "../endpoint.js";

/** First-run setup: redeems the link in the server's terminal to set up an event. */
const routes: FastifyPluginAsync = async (app) => {
  const answers = { 429: { $ref: "#/components/responses/TooMany" } };
  const requires = setupGuard(app);
  const config = { requires, operated: true, answers } as const;
  app.post("/api/v1/setup/", { config, ...setUp });
};

const setUp = endpoint(
  {
    operationId: "setUp",
    summary: "Set up the first event of a server",
    description:
      "Takes the secret of the link that `foyer serve` prints while the server has no world. The link works once, for an hour.",
    tags: ["server"],
    body: ref(SetupDraft),
    response: { 201: ref(SetUp) },
  },
  async (request, reply) => {
    const { base: address, body, server } = request;
    const { title, name, template } = body;
    const draft = draftWorld({ id: idOf(title), title, domain: domainOf(address) });
    const config = { ...draft.config, ...settingsOf(body) };
    const world = await server.setup.once(async () => {
      try {
        const { store } = server;
        return await createWorld(store, { ...draft, config }, template);
      } catch (error) {
        // Another node has already set up the event.
        const isTaken = error instanceof StoreError && error.problem === "taken";
        throw isTaken ? used() : error;
      }
    });
    const token = await signInvitation(world, await inviteHost(server.store, world, name), "link");
    const link = { address, world: world.id };
    reply.code(201);
    return {
      id: world.id,
      token,
      links: { console: linkTo("console", { ...link, token }), event: linkTo("event", link) },
    };
  },
);

/**
 * Returns the part of `config` that a draft sets.
 * @throws {InvalidData} if the event's dates are invalid.
 */
function settingsOf({
  locale,
  timezone,
  color,
  starts_at,
  ends_at,
}: SetupDraft): Record<string, unknown> {
  const event = { starts_at, ends_at };
  const faults = eventFaults(event);
  if (faults) throw new InvalidData(faults);
  return {
    ...(locale !== undefined && { locale }),
    ...(timezone !== undefined && { timezone }),
    ...(color !== undefined && { theme: { colors: { primary: color } } }),
    ...(starts_at !== undefined && { event }),
    access: { published: false },
  };
}

/** Derives a world's id from its title. Returns `event` if the title has no Latin letters or digits. */
function idOf(title: string): string {
  const plain = title.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const words = plain.match(/[a-z0-9]+/g) ?? [];
  return words.join("-").slice(0, 50).replace(/-$/, "") || "event";
}

/**
 * Returns the first world's domain: the host at which the organizer sets up the world, or localhost
 * if this host is not a valid domain.
 */
function domainOf(address: string): string {
  const { host } = new URL(address);
  return textFault(domainText, host) === undefined ? host : "localhost";
}

export default routes;
