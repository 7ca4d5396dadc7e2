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

/** How many notifications are prepared at a time; how many of them, and how many messages, may wait. */
const PREPARED_AT_ONCE = 4;
const MAX_WAITING = 5000;

/** How many messages are sent at a time: to all push services, and to one. */
const MAX_SENT = 100;
const MAX_SENT_TO_ONE = 4;

/**
 * How many messages may wait for one push service; how much of that a crowd may take, and how often
 * it looks for room, in milliseconds.
 */
const MAX_WAITING_FOR_ONE = 1000;
const SHARE_OF_CROWD = 0.5;
const ROOM_CHECK_INTERVAL_MS = 100;

/** How often it is logged that messages were dropped, in milliseconds. */
const REPORT_INTERVAL_MS = 10_000;

/** How long nothing goes to a push service that did not answer in time, in milliseconds. */
const SERVICE_PAUSE_MS = 60_000;
const MAX_PAUSED = 1000;

/**
 * For how long a signature for a push service counts, in milliseconds: a day is the most (RFC 8292,
 * section 2). It is used for half of that time.
 */
const SIGNATURE_LIFETIME_MS = 12 * 3_600_000;
const MAX_SIGNATURES = 1000;

/** How long a push service may take, in milliseconds, and how much of its answer is read. */
const PUSH_TIMEOUT_MS = 10_000;
const MAX_ANSWER = 16 * 1024;

/** How long a push service keeps a message for a browser that is away, in seconds. */
const TTL_SECONDS = 3600;

type WebPush = Pick<typeof import("web-push"), "getVapidHeaders">;

/** The parts that a sender works with. */
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
  /** By host, so that one that is slow holds up no other. */
  readonly #hosts = new Map<string, LimitFunction>();
  /** How many messages wait for their hosts. */
  #waiting = 0;
  /** Hosts that did not answer. */
  readonly #paused = new LRUCache<string, true>({ max: MAX_PAUSED, ttl: SERVICE_PAUSE_MS });
  readonly #signed = new LRUCache<string, string>({
    max: MAX_SIGNATURES,
    ttl: SIGNATURE_LIFETIME_MS / 2,
  });
  /** How many messages were dropped since that was logged. */
  #dropped = 0;
  #report: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** Does something soon. Under a flood it is left out, as a late message is of no use. */
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
      // A store or a service that fails for a while is expected, and a bug is not.
      const isBug = error instanceof TypeError || error instanceof RangeError;
      this.#parts.log[isBug ? "error" : "debug"]({ err: error }, "a push message was not sent");
    }
  }

  /** Sends some notices to all browsers of their users. */
  send(notices: readonly Notice[]): void {
    for (const notice of notices) {
      for (const endpoint of notice.endpoints) this.#queue(notice, endpoint);
    }
  }

  /**
   * Sends notices to any number of people. It resolves when the last of them has a place. Push services
   * that do not answer are paused, so they give places, too. Half of the places stay free for others.
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

  /** @param share of the places that may be taken. */
  #hasRoom(host: string, share = 1): boolean {
    const waiting = this.#hosts.get(host)?.pendingCount ?? 0;
    return waiting < MAX_WAITING_FOR_ONE * share && this.#waiting < MAX_WAITING * share;
  }

  /** Counts a message that is not sent, and logs how many there were, not too often. */
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

  /** Sends a notice, if its push service and all others leave room for it. */
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

  async #deliver({ world, user, name, read, place }: Notice, endpoint: string): Promise<void> {
    const { outbound, store } = this.#parts;
    const { host } = new URL(endpoint);
    if (this.#paused.has(host)) return this.#drop();
    // It may have waited: the browser may have another user by now.
    const subscription = (await store.push.of(world.id, [user])).find(
      (other) => other.endpoint === endpoint,
    );
    const texts = subscription && (await read());
    if (!texts) return;
    const { p256dh, auth } = subscription;
    const url = `/w/${encodeURIComponent(world.id)}/#/${place}`;
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
      // The client of HTTP counts them itself.
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
   * The header by which a push service knows this server. It counts for hours, so it is not signed for
   * each message.
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

  /** Whom a push service may ask about the messages. */
  #subjectOf({ domain }: World): string {
    const { publicUrl } = this.#parts;
    if (publicUrl?.startsWith("https:")) return publicUrl;
    return `https://${domain}`;
  }
}
