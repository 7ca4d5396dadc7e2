import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyBaseLogger } from "fastify";
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import type { LimitFunction } from "p-limit";
import type { PushKey } from "../../db/contract/push-store.js";
import type { Store } from "../../db/contract/store.js";
import { detach } from "../../db/runtime.js";
import type { World } from "../../schemas/worlds.js";
import { type Outbound, OutboundError } from "../outbound/outbound.js";
import type { Notice } from "./notices.js";

/**
 * Maximum number of notifications prepared concurrently, and maximum number queued. The second
 * limit also applies to queued messages.
 */
const PREPARED_AT_ONCE = 4;
const MAX_WAITING = 5000;

/** Maximum number of messages in flight to all push services together, and to each push service. */
const MAX_SENT = 100;
const MAX_SENT_TO_ONE = 4;

/**
 * Maximum number of messages queued per push service, the share of a queue that bulk sends may
 * fill, and the interval at which a bulk send checks whether a queue has space, in milliseconds.
 */
const MAX_WAITING_FOR_ONE = 1000;
const SHARE_OF_CROWD = 0.5;
const ROOM_CHECK_INTERVAL_MS = 100;

/** Minimum interval between log entries about dropped messages, in milliseconds. */
const REPORT_INTERVAL_MS = 10_000;

/** Pause before the next message to a push service that timed out, in milliseconds. */
const SERVICE_PAUSE_MS = 60_000;
const MAX_PAUSED = 1000;

/**
 * Lifetime of a signature for a push service, in milliseconds; the maximum is a day (RFC 8292,
 * section 2). A signature is reused for half of its lifetime.
 */
const SIGNATURE_LIFETIME_MS = 12 * 3_600_000;
const MAX_SIGNATURES = 1000;

/** Timeout for a request to a push service, in milliseconds, and maximum number of response bytes to read. */
const PUSH_TIMEOUT_MS = 10_000;
const MAX_ANSWER = 16 * 1024;

/** Time for which a push service retains a message for an offline browser, in seconds. */
const TTL_SECONDS = 3600;

type WebPush = Pick<typeof import("web-push"), "getVapidHeaders">;

/** The dependencies of a push sender. */
export interface SenderParts {
  readonly store: Store;
  readonly outbound: Outbound;
  readonly log: FastifyBaseLogger;
  readonly key: PushKey;
  readonly publicUrl: string | undefined;
}

/** Sends messages to push services. */
export class PushSender {
  readonly #parts: SenderParts;
  readonly #work = pLimit(PREPARED_AT_ONCE);
  readonly #sending = pLimit(MAX_SENT);
  /** Concurrency limits by host, so that a slow host does not hold up all other hosts. */
  readonly #hosts = new Map<string, LimitFunction>();
  /** Number of messages queued for all hosts. */
  #waiting = 0;
  /** Hosts that timed out. */
  readonly #paused = new LRUCache<string, true>({ max: MAX_PAUSED, ttl: SERVICE_PAUSE_MS });
  readonly #signed = new LRUCache<string, string>({
    max: MAX_SIGNATURES,
    ttl: SIGNATURE_LIFETIME_MS / 2,
  });
  /** Number of messages dropped since the last log entry. */
  #dropped = 0;
  #report: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** Queues work. If too much work is already queued, the new work is dropped, because a late message is useless. */
  do(work: () => Promise<void>): void {
    if (this.#isClosed) return;
    if (this.#work.pendingCount >= MAX_WAITING) return this.#drop();
    detach(this.#work(() => this.#try(work)));
  }

  async #try(work: () => Promise<void>): Promise<void> {
    if (this.#isClosed) return;
    try {
      await work();
    } catch (error) {
      // Temporary failures of a store or a service are expected, but bugs are not.
      const isBug = error instanceof TypeError || error instanceof RangeError;
      this.#parts.log[isBug ? "error" : "debug"]({ err: error }, "a push message was not sent");
    }
  }

  /** Queues notices for all of their users' browsers. */
  send(notices: readonly Notice[]): void {
    for (const notice of notices) {
      for (const endpoint of notice.endpoints) this.#queue(notice, endpoint);
    }
  }

  /**
   * Sends notices to any number of people. Resolves once every message is queued. Bulk messages
   * fill at most half of each queue, to leave space for all other messages. A push service that
   * times out is paused, so its queue drains too.
   */
  async sendToMany(notices: readonly Notice[]): Promise<void> {
    for (const notice of notices) {
      for (const endpoint of notice.endpoints) {
        const { host } = new URL(endpoint);
        while (!this.#isClosed && !this.#hasRoom(host, SHARE_OF_CROWD)) {
          await sleep(ROOM_CHECK_INTERVAL_MS, undefined, { ref: false });
        }
        this.#queue(notice, endpoint);
      }
    }
  }

  /** @param share the share of each queue that may be used. */
  #hasRoom(host: string, share = 1): boolean {
    const waiting = this.#hosts.get(host)?.pendingCount ?? 0;
    return waiting < MAX_WAITING_FOR_ONE * share && this.#waiting < MAX_WAITING * share;
  }

  /** Counts a dropped message, and schedules a throttled log entry. */
  #drop(): void {
    this.#dropped++;
    this.#report ??= setTimeout(() => this.#reportNow(), REPORT_INTERVAL_MS).unref();
  }

  #reportNow(): void {
    clearTimeout(this.#report);
    this.#report = undefined;
    if (this.#dropped === 0) return;
    const dropped = this.#dropped;
    this.#dropped = 0;
    this.#parts.log.warn(
      { dropped },
      "push messages were dropped: there are too many, or their push services are too slow",
    );
  }

  /** Queues a notice for one endpoint, or drops it if a queue is full. */
  #queue(notice: Notice, endpoint: string): void {
    const { host } = new URL(endpoint);
    if (this.#isClosed) return;
    if (!this.#hasRoom(host)) return this.#drop();
    const limit = this.#hosts.get(host) ?? pLimit(MAX_SENT_TO_ONE);
    this.#hosts.set(host, limit);
    this.#waiting += 1;
    const sending = limit(async () => {
      this.#waiting -= 1;
      await this.#sending(() => this.#try(() => this.#deliver(notice, endpoint)));
      if (limit.pendingCount === 0 && limit.activeCount <= 1) {
        this.#hosts.delete(host);
      }
    });
    detach(sending);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#reportNow();
    this.#work.clearQueue();
    this.#sending.clearQueue();
    for (const limit of this.#hosts.values()) limit.clearQueue();
  }

  async #deliver(
    { world, user, name, read, place, page }: Notice,
    endpoint: string,
  ): Promise<void> {
    const { outbound, store } = this.#parts;
    const { host } = new URL(endpoint);
    if (this.#paused.has(host)) return this.#drop();
    // While the message was queued, the browser may have switched to another user.
    const subscription = (await store.push.of(world.id, [user])).find(
      (other) => other.endpoint === endpoint,
    );
    const texts = subscription && (await read());
    if (!texts) return;
    const { p256dh, auth } = subscription;
    const url = `/w/${encodeURIComponent(world.id)}/${page ?? ""}#/${place}`;
    const payload = JSON.stringify({ ...texts, url, tag: name });
    const { default: webPush } = await import("web-push");
    const request = webPush.generateRequestDetails({ endpoint, keys: { p256dh, auth } }, payload, {
      TTL: TTL_SECONDS,
      urgency: "high",
    });
    const authorization = this.#authorization(
      webPush,
      new URL(endpoint).origin,
      this.#subjectOf(world),
    );
    const headers = Object.entries({ ...request.headers, authorization })
      // The HTTP client computes Content-Length itself.
      .filter(([header]) => header.toLowerCase() !== "content-length")
      .map(([header, value]) => [header, String(value)] as const);
    try {
      const { status } = await outbound.send({
        url: endpoint,
        method: "POST",
        body: request.body,
        headers: Object.fromEntries(headers),
        timeout: PUSH_TIMEOUT_MS,
        maxBytes: MAX_ANSWER,
        drops: true,
      });
      if (status === 404 || status === 410) {
        await store.push.forget(world.id, endpoint);
      }
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      if (error.code === "timeout") this.#paused.set(host, true);
      this.#parts.log.debug(
        { world: world.id, code: error.code },
        "a push service did not take a message",
      );
    }
  }

  /**
   * Returns the header that identifies this server to a push service. The header is valid for
   * hours, so it is not signed for every message.
   * @param audience the origin of the push service.
   */
  #authorization(webPush: WebPush, audience: string, subject: string): string {
    const name = `${audience} ${subject}`;
    const known = this.#signed.get(name);
    if (known !== undefined) return known;
    const { publicKey, privateKey } = this.#parts.key;
    const { Authorization } = webPush.getVapidHeaders(
      audience,
      subject,
      publicKey,
      privateKey,
      "aes128gcm",
      Math.floor((Date.now() + SIGNATURE_LIFETIME_MS) / 1000),
    );
    this.#signed.set(name, Authorization);
    return Authorization;
  }

  /** Returns the URL that push services may use to contact the sender of the messages. */
  #subjectOf({ domain }: World): string {
    const { publicUrl } = this.#parts;
    if (publicUrl?.startsWith("https:")) return publicUrl;
    return `https://${domain}`;
  }
}
