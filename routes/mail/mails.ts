import { createHmac, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import type { InvitationRecord } from "../../db/contract/invitation-store.js";
import type { MailProgress } from "../../db/contract/mail-store.js";
import { StoreError } from "../../db/contract/store.js";
import { stands } from "../../db/rules/invitation-rows.js";
import { invitationPages, queueInvitations, signInvitation } from "../../db/world-management.js";
import { authorOf } from "../../plugins/auth/guard.js";
import { forbidden, missingTo, Refusal, unauthenticated } from "../../plugins/http/errors.js";
import { networkOf } from "../../plugins/limits/guests.js";
import { limitRate } from "../../plugins/limits/request-rate.js";
import { mailerOf } from "../../plugins/mail/mail-plugin.js";
import { hashOfCode } from "../../plugins/mail/queue.js";
import { responseRef } from "../../plugins/openapi/parts.js";
import { InvitationParams } from "../../schemas/invitations.js";
import {
  InvitationMail,
  InvitationMails,
  LinkRequest,
  LinkRequested,
  LoginCode,
  MailedLogin,
  MailReport,
  MailStatus,
  QueuedMails,
  TestMail,
} from "../../schemas/mails.js";
import { foldCase } from "../../schemas/plain/folding.js";
import { linkTo } from "../../schemas/plain/links.js";
import { InvalidData } from "../../schemas/validate.js";
import { ref } from "../../schemas/values.js";
import { type World, WorldParams } from "../../schemas/worlds.js";
import { endpoint } from "../endpoint.js";
import { reachOf } from "../role-reach.js";

const WORLD = "/api/v1/worlds/:world_id/";

/** Maximum number of test mails per minute, per world and process. */
const TESTS_PER_MINUTE = 10;

/** Maximum number of codes per minute from one network. A whole hall may share an address. */
const CODES_PER_MINUTE = 120;

/** How long a request waits for its test mail, and how often it checks, in milliseconds. */
const TEST_WAIT_MS = 20_000;
const TEST_LOOK_MS = 200;

/** Lifetime of a session that starts from an e-mailed link. The invitation may end it earlier. */
const SESSION = "30d";

/** Mails to invited people, and e-mailed links for people who lost theirs. */
const routes: FastifyPluginAsync = async (app) => {
  const config = { requires: ["user.invite"] } as const;
  const answers = { 409: responseRef("Conflict") };
  app.get(`${WORLD}mail/`, { config, ...getMail });
  app.post(`${WORLD}mail/test/`, {
    config: { ...config, answers: { ...answers, 429: responseRef("TooMany") } },
    preHandler: limitRate({
      perMinute: TESTS_PER_MINUTE,
      what: "test mails",
      keyOf: ({ params }) => (params as { world_id: string }).world_id,
    }),
    ...sendTest,
  });
  app.post(`${WORLD}invitations/send/`, { config: { ...config, answers }, ...sendInvitations });
  app.post(`${WORLD}invitations/:invitation_id/send/`, {
    config: { ...config, answers },
    ...sendInvitation,
  });

  const open = {
    requires: "public",
    answers: { ...answers, 401: responseRef("Unauthenticated"), 429: responseRef("TooMany") },
  } as const;
  app.post(`${WORLD}login-mails/`, { config: open, ...requestLink });
  const limitCodes = limitRate({
    perMinute: CODES_PER_MINUTE,
    what: "codes",
    keyOf: networkIn,
  });
  app.post(`${WORLD}logins/`, { config: open, onRequest: limitCodes, ...redeemCode });
};

/** Returns the network of a request, or a placeholder for this machine. */
function networkIn({ server, raw }: FastifyRequest): string {
  const address = server.guests.addressOf(raw);
  return networkOf(address) ?? "here";
}

const shown = ({ state, at, error }: MailProgress) => ({
  state,
  at: new Date(at).toISOString(),
  error,
});

const getMail = endpoint(
  {
    operationId: "getMail",
    summary: "Get the server's mail settings, and the event's mail queue",
    description:
      "`enabled` is false without SMTP_URL; `waiting` and `failed` count mails of the event.",
    tags: ["users"],
    params: WorldParams,
    response: { 200: ref(MailStatus) },
  },
  async ({ params, server: { mail, store } }) => ({
    enabled: mail !== undefined,
    from: mail?.from ?? null,
    per_minute: mail?.perMinute ?? null,
    ...(await store.mails.counts(params.world_id)),
  }),
);

const sendTest = endpoint(
  {
    operationId: "sendTestMail",
    summary: "Send a test mail",
    description:
      "Responds once the mail server has replied, or after 20 seconds. 409 without SMTP_URL.",
    tags: ["users"],
    params: WorldParams,
    body: ref(TestMail),
    response: { 200: ref(MailReport) },
  },
  async (request) => {
    const { server, params, body } = request;
    const { world_id: world } = params;
    const mailer = mailerOf(server);
    const { mails } = server.store;
    const now = Date.now();
    const act = `test:${randomUUID()}`;
    const draft = { act, kind: "test", recipient: body.to, detail: {}, due_at: now } as const;
    await mails.queue(world, [draft], now, authorOf(request));
    mailer.wake();
    for (;;) {
      const report = await mails.reportOf(world, act);
      if (!report) throw new Refusal(409, "The event was deleted.");
      const isOver = report.state === "sent" || report.state === "failed";
      if (isOver || Date.now() - now > TEST_WAIT_MS) return shown(report);
      await delay(TEST_LOOK_MS);
    }
  },
);

/** Queues mails to the invitations that can receive them. */
async function queue(
  request: FastifyRequest,
  invitations: readonly InvitationRecord[],
  wording: Parameters<typeof queueInvitations>[3],
) {
  const { server } = request;
  const mailer = mailerOf(server);
  const world = request.world!.value;
  const total = await queueInvitations(
    server.store,
    world,
    invitations,
    wording,
    authorOf(request),
  );
  mailer.wake();
  return total;
}

const sendInvitation = endpoint(
  {
    operationId: "sendInvitation",
    summary: "Send an invitation by e-mail",
    description:
      "Queues a mail with the person's current link. Replaces a mail that is still queued. 409 without SMTP_URL.",
    tags: ["users"],
    params: InvitationParams,
    body: ref(InvitationMail),
    response: { 202: ref(QueuedMails) },
  },
  async (request, reply) => {
    const { params, body, server } = request;
    const { invitations } = server.store;
    const invitation = await invitations.get(params.world_id, params.invitation_id);
    if (!invitation) throw missingTo(request, "invitation");
    const isOutOfReach = await reachOf(request);
    if (isOutOfReach(invitation.role)) throw forbidden();
    return reply.code(202).send(await queue(request, [invitation], body));
  },
);

const sendInvitations = endpoint(
  {
    operationId: "sendInvitations",
    summary: "Send several invitations by e-mail",
    description:
      "Queues a mail to each person. Skips people with a role that the caller may not give. 409 without SMTP_URL.",
    tags: ["users"],
    params: WorldParams,
    body: ref(InvitationMails),
    response: { 202: ref(QueuedMails) },
  },
  async (request, reply) => {
    const { params, server, body } = request;
    mailerOf(server);
    const { ids, filter, act = randomUUID(), ...wording } = body;
    if ((ids === undefined) === (filter === undefined)) {
      throw new InvalidData({ ids: ["Send either ids or a filter."] });
    }
    const { store } = server;
    const isOutOfReach = await reachOf(request);
    const total = { queued: 0, skipped: 0 };
    const add = async (found: readonly InvitationRecord[]) => {
      const reachable = found.filter(({ role }) => !isOutOfReach(role));
      const { queued, skipped } = await queue(request, reachable, { ...wording, act });
      total.queued += queued;
      total.skipped += skipped + found.length - reachable.length;
    };
    if (ids) {
      const found = await store.invitations.getMany(params.world_id, ids);
      if (found.length < new Set(ids).size) throw missingTo(request, "invitation");
      await add(found);
      return reply.code(202).send(total);
    }
    for await (const page of invitationPages(store, params.world_id, filter)) await add(page);
    return reply.code(202).send(total);
  },
);

/** Returns a keyed hash, so that the store keeps neither addresses nor networks. */
const keyed = ({ config }: World, text: string): string =>
  createHmac("sha256", config.JWT_secrets[0]!.secret).update(text).digest("base64url");

const requestLink = endpoint(
  {
    operationId: "requestLink",
    summary: "Request a new link by e-mail",
    description:
      "If an invitation has the address, sends it a link that works once, for 15 minutes. The response is the same for every address. 409 without SMTP_URL.",
    tags: ["users"],
    params: WorldParams,
    body: ref(LinkRequest),
    response: { 202: ref(LinkRequested) },
  },
  async (request, reply) => {
    const { server, params, body } = request;
    const mailer = mailerOf(server);
    const { store } = server;
    const world = (await store.worlds.get(params.world_id))?.value;
    // The response for a nonexistent world is the same as for any other world.
    if (!world) return reply.code(202).send({});
    const address = body.email.toLowerCase();
    const network = networkIn(request);
    const { page = "event", language: locale } = body;
    // All spellings of an address that match the same invitation count as one.
    const counts = { address: keyed(world, foldCase(address)), network: keyed(world, network) };
    let limit: "network" | "world" | undefined;
    try {
      limit = await store.mails.ask(world.id, { address, page, locale, at: Date.now(), counts });
    } catch (error) {
      if (!(error instanceof StoreError && error.problem === "absent")) throw error;
    }
    if (limit !== undefined) {
      throw new Refusal(429, "Too many links were asked for. Try again later.", {
        "retry-after": "900",
      });
    }
    mailer.wake();
    return reply.code(202).send({});
  },
);

const redeemCode = endpoint(
  {
    operationId: "redeemLoginCode",
    summary: "Sign in with the code in an e-mailed link",
    description:
      "The code works once. Any other code is a 401. The token has the rights that the person's invitation grants.",
    tags: ["users"],
    params: WorldParams,
    body: ref(LoginCode),
    response: { 200: ref(MailedLogin) },
  },
  async (request) => {
    const { server, params, body, base } = request;
    const { store } = server;
    const now = Date.now();
    const world = (await store.worlds.get(params.world_id))?.value;
    const found = world && (await store.mails.redeem(world.id, hashOfCode(body.code), now));
    const invitation =
      found && found.invitation !== null
        ? await store.invitations.get(world.id, found.invitation)
        : undefined;
    if (!world || !found || !stands(invitation, world, now)) {
      throw unauthenticated("This link was used before, or more than 15 minutes have passed.");
    }
    const token = await signInvitation(world, invitation, "session", SESSION);
    const url = linkTo(found.page, { address: base, world: world.id, token });
    return { token, url };
  },
);

export default routes;
