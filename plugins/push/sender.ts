import type { FastifyBaseLogger } from "fastify";
import pLimit from "p-limit";
import type { PushKey, PushSubscription } from "../../db/contract/push.js";
import { detach } from "../../db/detach.js";
import type { Store } from "../../db/contract/store.js";
import type { World } from "../../schemas/worlds.js";
import type { Outbound } from "../outbound/outbound.js";
import { OutboundError } from "../outbound/refusals.js";
import type { Notice } from "./notices.js";

/** How many messages are sent at a time, and how many works may wait. */
const AT_ONCE = 10;
const MAX_WAITING = 5000;

/** How long a push service may take, in milliseconds, and how much of its answer is read. */
const PATIENCE = 10_000;
const MAX_ANSWER = 16 * 1024;

/** How long a push service keeps a message for a browser that is away, in seconds. */
const TTL = 3600;

/** The parts that a sender works with. */
export interface SenderParts {
  readonly store: Store;
  readonly outbound: Outbound;
  readonly log: FastifyBaseLogger;
  readonly key: PushKey;
  readonly publicUrl: string | undefined;
}

/** Sends messages to push services, each once: the first process that claims one sends it. */
export class PushSender {
  readonly #parts: SenderParts;
  readonly #limit = pLimit(AT_ONCE);
  #isClosed = false;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** Does something soon. Under a flood it is left out, as a late message is of no use. */
  do(work: () => Promise<void>): void {
    if (this.#isClosed || this.#limit.pendingCount >= MAX_WAITING) return;
    const sending = this.#limit(async () => {
      if (this.#isClosed) return;
      try {
        await work();
      } catch (error) {
        this.#parts.log.debug({ err: error }, "a push message was not sent");
      }
    });
    detach(sending);
  }

  /** Sends some notices to all browsers of their users. */
  async send(notices: readonly Notice[]): Promise<void> {
    const { store } = this.#parts;
    /** Whether this process sends each of them. */
    const own = new Map<string, boolean>();
    for (const notice of notices) {
      const { world, user, name } = notice;
      const subscriptions = await store.push.of(world.id, [user]);
      if (subscriptions.length === 0) continue;
      if (!own.has(name)) {
        own.set(name, await store.push.claim(world.id, name, Date.now()));
      }
      if (!own.get(name)) continue;
      for (const subscription of subscriptions) {
        this.do(() => this.#deliver(notice, subscription));
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#limit.clearQueue();
  }

  async #deliver(
    { world, name, title, body, place }: Notice,
    { endpoint, p256dh, auth }: PushSubscription,
  ): Promise<void> {
    const { outbound, store, key } = this.#parts;
    const url = `/w/${encodeURIComponent(world.id)}/#/${place}`;
    const payload = JSON.stringify({ title, body, url, tag: name });
    const { default: webPush } = await import("web-push");
    const request = webPush.generateRequestDetails(
      { endpoint, keys: { p256dh, auth } },
      payload,
      {
        vapidDetails: { subject: this.#subjectOf(world), ...key },
        ...{ TTL, urgency: "high" },
      },
    );
    const headers = Object.entries(request.headers as Record<string, unknown>)
      // The client of HTTP counts them itself.
      .filter(([header]) => header.toLowerCase() !== "content-length")
      .map(([header, value]) => [header, String(value)] as const);
    try {
      const { status } = await outbound.send({
        ...{ url: endpoint, method: "POST", body: request.body },
        headers: Object.fromEntries(headers),
        ...{ timeout: PATIENCE, maxBytes: MAX_ANSWER, drops: true },
      });
      if (status === 404 || status === 410) {
        await store.push.forget(world.id, endpoint);
      }
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      this.#parts.log.debug(
        { world: world.id, code: error.code },
        "a push service did not take a message",
      );
    }
  }

  /** Whom a push service may ask about the messages. */
  #subjectOf({ domain }: World): string {
    const { publicUrl } = this.#parts;
    if (publicUrl?.startsWith("https:")) return publicUrl;
    return `https://${domain}`;
  }
}
