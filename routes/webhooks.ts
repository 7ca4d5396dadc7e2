import { randomUUID } from "node:crypto";
import { Type } from "@sinclair/typebox";
import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import { StoreError, type Versioned } from "../db/contract/store.js";
import type {
  ListedWebhook,
  WebhookRecord as StoredWebhook,
} from "../db/contract/webhook-store.js";
import { versioned } from "../db/rules/versions.js";
import { authorOf } from "../plugins/auth/guard.js";
import { cursorRefusal, positionOf } from "../plugins/feed/page.js";
import { beyondQuota, missingTo } from "../plugins/http/errors.js";
import { responseRef } from "../plugins/openapi/parts.js";
import { send } from "../plugins/webhooks/delivery.js";
import { newSecret } from "../plugins/webhooks/message.js";
import { InvalidData } from "../schemas/validate.js";
import { PageQuery, ref } from "../schemas/values.js";
import {
  Webhook,
  WebhookChanges,
  WebhookDraft,
  webhookId,
  WebhookList,
  WebhookPosition,
  WebhookTest,
} from "../schemas/webhooks.js";
import { WorldParams } from "../schemas/worlds.js";
import { endpoint } from "./endpoint.js";
import { type ListOrder, readPage } from "./pages.js";

const WEBHOOKS = "/api/v1/worlds/:world_id/webhooks/";
const WEBHOOK = `${WEBHOOKS}:webhook_id/`;

const Params = Type.Object({ ...WorldParams.properties, webhook_id: webhookId });

/** A world's webhooks. */
const routes: FastifyPluginAsync = async (app) => {
  const config = { requires: ["world.feed", "world.update"] } as const;
  app.get(WEBHOOKS, { config, ...listWebhooks });
  const versioned = { ...config, versioned: true } as const;
  app.post(WEBHOOKS, {
    config: { ...versioned, answers: { 409: responseRef("Conflict") } },
    ...createWebhook,
  });
  app.get(WEBHOOK, { config: versioned, ...getWebhook });
  app.patch(WEBHOOK, { config: versioned, ...updateWebhook });
  app.delete(WEBHOOK, { config: versioned, ...deleteWebhook });
  app.post(`${WEBHOOK}test`, { config, ...testWebhook });
  app.post(`${WEBHOOK}redeliver`, {
    config: { ...config, answers: { 410: responseRef("Expired") } },
    ...redeliver,
  });
};

const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

/** Returns a webhook as callers see it, without its secret. */
const shown = (hook: StoredWebhook): Webhook => ({
  id: hook.id,
  url: hook.url,
  types: hook.types,
  enabled: hook.enabled,
  description: hook.description,
  created_at: time(hook.created_at)!,
  state: {
    cursor: String(hook.position),
    delivered_at: time(hook.delivered_at),
    failing_since: time(hook.failing_since),
    last_status: hook.last_status,
    last_error: hook.last_error,
    next_try_at: time(hook.next_try_at),
  },
});

/**
 * Returns a webhook with its version: the revision of its settings, which `If-Match` compares, and
 * a digest of everything shown. Each delivery changes the digest, which must not block changes to
 * the settings.
 * @param more fields to add to the response.
 */
function recordOf(hook: StoredWebhook, more: object = {}): Versioned<Webhook> {
  const value = shown(hook);
  const digest = versioned(
    () => value,
    () => JSON.stringify(value),
    hook.revision,
  ).version;
  return {
    value,
    version: `${hook.revision}.${digest}`,
    json: JSON.stringify({ ...value, ...more }),
  };
}

/** Returns the revisions in `If-Match`. */
const revisionsIn = (request: FastifyRequest): number[] | undefined =>
  request.expectedVersions()?.map((version) => parseInt(version, 10));

/**
 * Returns the webhook in the path.
 * @throws {Refusal} 403 if the webhook does not exist.
 */
async function webhookOf(
  request: FastifyRequest<{ Params: { world_id: string; webhook_id: string } }>,
): Promise<StoredWebhook> {
  const { world_id, webhook_id } = request.params;
  const found = await request.server.store.webhooks.get(world_id, webhook_id);
  if (!found) throw missingTo(request, "webhook");
  return found;
}

/**
 * Rejects a URL to which the server must not send requests.
 * @throws {InvalidData} if the URL is rejected.
 */
async function expectPublic({ server }: FastifyRequest, url: string | undefined): Promise<void> {
  const fault = url === undefined ? undefined : await server.outbound.faultOf(url);
  if (fault !== undefined) throw new InvalidData({ url: [fault] });
}

const BY_AGE: ListOrder<ListedWebhook> = {
  name: "webhooks",
  types: ["number"],
  placeOf: ({ number }) => [number],
};

const listWebhooks = endpoint(
  {
    operationId: "listWebhooks",
    summary: "List the webhooks of a world",
    description: "Without their secrets.",
    tags: ["webhooks"],
    params: WorldParams,
    querystring: PageQuery,
    response: { 200: ref(WebhookList) },
  },
  async (request) => {
    const { store } = request.server;
    const { world_id } = request.params;
    const { found, links } = await readPage(request, request.query, BY_AGE, async (selection) => {
      const list = await store.webhooks.list(world_id, selection);
      return { count: list.count, items: list.webhooks };
    });
    const { count, items } = found;
    return { count, ...links, results: items.map(shown) };
  },
);

const createWebhook = endpoint(
  {
    operationId: "createWebhook",
    summary: "Create a webhook",
    description:
      "Delivery begins with the next entry. The response contains the secret, which is not shown again.",
    tags: ["webhooks"],
    params: WorldParams,
    body: ref(WebhookDraft),
    response: { 201: ref(Webhook) },
  },
  async (request, reply) => {
    const { server, params, body, base } = request;
    const { url, types = ["*"], enabled = true, description = "" } = body;
    await expectPublic(request, url);
    const secret = newSecret();
    const settings = { url, types, enabled, description };
    try {
      const made = await server.store.webhooks.create(
        params.world_id,
        settings,
        secret,
        authorOf(request),
      );
      server.findWebhooks();
      const path = WEBHOOK.replace(":world_id", params.world_id);
      reply.header("location", base + path.replace(":webhook_id", made.id));
      return reply.code(201).sendVersioned(recordOf(made, { secret }));
    } catch (error) {
      if (error instanceof StoreError && error.problem === "quota") {
        throw beyondQuota(error.message);
      }
      throw error;
    }
  },
);

const getWebhook = endpoint(
  {
    operationId: "getWebhook",
    summary: "Get a webhook",
    description: "Includes the state of its deliveries, but not its secret.",
    tags: ["webhooks"],
    params: Params,
    response: { 200: ref(Webhook) },
  },
  async (request, reply) => reply.sendVersioned(recordOf(await webhookOf(request))),
);

const updateWebhook = endpoint(
  {
    operationId: "updateWebhook",
    summary: "Replace fields of a webhook",
    description:
      "A webhook that is enabled again resumes at its cursor if those entries still exist. Refuses addresses inside the server's network.",
    tags: ["webhooks"],
    params: Params,
    body: ref(WebhookChanges),
    response: { 200: ref(Webhook) },
  },
  async (request, reply) => {
    const { server, params, body } = request;
    const { world_id } = params;
    const { store } = server;
    const before = await webhookOf(request);
    await expectPublic(request, body.url);
    const { secret: asked, ...changes } = body;
    const secret = asked === null ? newSecret() : undefined;
    const begins = changes.enabled === true;
    const floor = begins ? await store.log.floor(world_id) : 0;
    const isLost = before.position < floor;
    const [head] = isLost ? await store.log.heads([world_id]) : [];
    const after = await store.webhooks.update(
      world_id,
      before.id,
      { ...changes, secret, ...(head && { position: head.seq }) },
      revisionsIn(request),
      authorOf(request),
    );
    server.findWebhooks();
    const more = {
      ...(secret !== undefined && { secret }),
      ...(begins && { resumed: isLost ? "now" : "cursor" }),
    };
    return reply.sendVersioned(recordOf(after, more));
  },
);

const deleteWebhook = endpoint(
  {
    operationId: "deleteWebhook",
    summary: "Delete a webhook",
    description: "Nothing more is sent, not even earlier changes. A request body is ignored.",
    tags: ["webhooks"],
    params: Params,
    response: { 204: Type.Null({ description: "It is deleted." }) },
  },
  async (request, reply) => {
    const { world_id, webhook_id } = request.params;
    const { webhooks } = request.server.store;
    await webhooks.delete(world_id, webhook_id, revisionsIn(request), authorOf(request));
    return reply.code(204).send(null);
  },
);

const testWebhook = endpoint(
  {
    operationId: "testWebhook",
    summary: "Send a test to a webhook now",
    description: "Works even if the webhook is disabled. A request body is ignored.",
    tags: ["webhooks"],
    params: Params,
    response: { 200: ref(WebhookTest) },
  },
  async (request) => {
    const hook = await webhookOf(request);
    const began = performance.now();
    const { status, error } = await send(request.server.outbound, hook, {
      id: `${hook.world}.test-${randomUUID()}.${hook.id}`,
      type: "webhook.test",
      at: Date.now(),
      data: JSON.stringify({ webhook_id: hook.id }),
    });
    const duration_ms = Math.round(performance.now() - began);
    return { status, duration_ms, error };
  },
);

const redeliver = endpoint(
  {
    operationId: "redeliverWebhook",
    summary: "Resend changes from a cursor",
    description:
      "Refuses a cursor after the newest entry. A cursor whose entries no longer exist is a 410.",
    tags: ["webhooks"],
    params: Params,
    body: ref(WebhookPosition),
    response: { 200: ref(Webhook) },
  },
  async (request) => {
    const { server, params, body } = request;
    const { id } = await webhookOf(request);
    const { world_id } = params;
    const position = await positionOf(server.store, world_id, body.after);
    if (typeof position === "string") throw cursorRefusal(position, "after");
    const changed = await server.store.webhooks.update(
      world_id,
      id,
      { position },
      undefined,
      authorOf(request),
    );
    server.findWebhooks();
    return shown(changed);
  },
);

export default routes;
