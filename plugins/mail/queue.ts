import { createHash, randomBytes } from "node:crypto";
import type { FastifyBaseLogger } from "fastify";
import type { MailSettings } from "../../config.js";
import {
  CODE_LIFETIME_MS,
  type Mail,
  type MailError,
  type MailOutcome,
  MAX_CLOCK_DIFFERENCE_MS,
} from "../../db/contract/mail-store.js";
import type { Store } from "../../db/contract/store.js";
import { stands } from "../../db/rules/invitation-rows.js";
import type { Clock } from "../../db/runtime.js";
import { signInvitation } from "../../db/world-management.js";
import { accessOf } from "../../schemas/plain/access.js";
import { pageOfRole } from "../../schemas/plain/invitations.js";
import { linkTo, loginLink, stopLink } from "../../schemas/plain/links.js";
import { mailWishesOf } from "../../schemas/plain/mail.js";
import type { World } from "../../schemas/worlds.js";
import { compose, startOf } from "./mail-message.js";
import { retryAt } from "./mail-retries.js";
import { bytesOf, type Letter, transmit, type Transmission } from "./smtp.js";

/** Interval between checks of the queue, in milliseconds. */
const CHECK_INTERVAL_MS = 1000;

/** Interval between checks for mails claimed by processes that have died, in milliseconds. */
const LOST_INTERVAL_MS = 10_000;

/** Maximum number of mails that a process sends concurrently. */
const MAX_AT_ONCE = 5;

/**
 * The initial and the maximum pause after the mail server was unavailable, in milliseconds. The
 * pause doubles after each failure.
 */
const MIN_PAUSE_MS = 5000;
const MAX_PAUSE_MS = 60_000;

/** Maximum number of mails per request, if several people share an address. */
const MAX_PER_REQUEST = 5;

/** Interval between attempts to store an outcome, in milliseconds. */
const SETTLE_INTERVAL_MS = 1000;

interface QueueParts {
  readonly store: Store;
  readonly settings: MailSettings;
  /** The server's public URL, without a trailing slash. */
  readonly address: string;
  /** A unique name for this process. Names are never reused. */
  readonly holder: string;
  readonly log: Pick<FastifyBaseLogger, "warn" | "error">;
  readonly clock: Clock;
}

/** Returns the hash under which a code is stored. */
export const hashOfCode = (code: string): string =>
  createHash("sha256").update(code).digest("base64url");

/**
 * Sends queued mails. All processes of a server do so: each mail is claimed by one process before
 * it contacts the mail server, and a mail is never claimed again unless the mail server has
 * certainly not accepted it.
 */
export class MailQueue {
  readonly #parts: QueueParts;
  /** The mails that this process is sending, by id. */
  readonly #active = new Map<string, Promise<void>>();
  /**
   * The times at which this process first saw claims, by {@link Clock.now}. The clocks of different
   * machines are never compared.
   */
  #seen = new Map<string, number>();
  #lookedForLost = -Infinity;
  #pause = 0;
  #pausedUntil = -Infinity;
  #cancel = () => {};
  #running: Promise<void> | undefined;
  #isAsked = false;
  #isClosed = false;

  constructor(parts: QueueParts) {
    this.#parts = parts;
  }

  /** Checks the queue immediately. */
  readonly wake = (): void => {
    this.#isAsked = true;
    if (this.#running || this.#isClosed) return;
    this.#cancel();
    this.#running = this.#run().then((delay) => {
      this.#running = undefined;
      if (this.#isClosed) return;
      this.#cancel = this.#parts.clock.after(this.#isAsked ? 0 : delay, this.wake);
    });
  };

  /** Stops claiming mails, and waits for those that are being sent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    await this.#running;
    await Promise.all(this.#active.values());
  }

  /**
   * Checks the queue. Never rejects.
   * @returns the delay before the next check, in milliseconds.
   */
  async #run(): Promise<number> {
    this.#isAsked = false;
    const { clock, log } = this.#parts;
    try {
      await this.#giveUpLost();
      if (clock.now() >= this.#pausedUntil) return await this.#begin();
    } catch (error) {
      if (!this.#isClosed) log.warn({ err: error }, "mails have to wait");
    }
    return CHECK_INTERVAL_MS;
  }

  /**
   * Starts sending mails that are due, within the rate limit.
   * @returns the delay before the next check, in milliseconds.
   */
  async #begin(): Promise<number> {
    const { store, settings, holder, clock } = this.#parts;
    const interval = Math.ceil(60_000 / settings.perMinute);
    const free = MAX_AT_ONCE - this.#active.size;
    if (free <= 0) return CHECK_INTERVAL_MS;
    for (const { world, id, kind } of await store.mails.due(clock.date(), free)) {
      if (this.#isClosed) break;
      // A request for a link is not a mail itself, so it counts against the rate limit only when it
      // is answered. Requests for unknown addresses count as well, so that they take the same time.
      if (kind !== "request") {
        const now = clock.date();
        const wait = ((await store.mails.nextAt()) ?? 0) - now;
        const mayTurn = wait <= 0 || wait > interval + MAX_CLOCK_DIFFERENCE_MS;
        if (!mayTurn || !(await store.mails.turn("", now, interval))) {
          return Math.min(mayTurn ? interval : wait, CHECK_INTERVAL_MS);
        }
      }
      const mail = await store.mails.claim(world, id, holder, clock.date());
      if (!mail) continue;
      const sending = this.#send(mail).finally(() => {
        this.#active.delete(id);
        this.wake();
      });
      this.#active.set(id, sending);
    }
    return CHECK_INTERVAL_MS;
  }

  /** Gives up mails claimed by processes that have been silent for too long. */
  async #giveUpLost(): Promise<void> {
    const { store, settings, clock } = this.#parts;
    const now = clock.now();
    if (now - this.#lookedForLost < Math.min(LOST_INTERVAL_MS, settings.lostAfter / 2)) return;
    this.#lookedForLost = now;
    const seen = new Map<string, number>();
    for (const mail of await store.mails.claimed()) {
      if (this.#active.has(mail.id)) continue;
      const key = `${mail.id} ${mail.holder} ${mail.attempts}`;
      const since = this.#seen.get(key) ?? now;
      if (now - since >= settings.lostAfter) {
        await store.mails.lose(mail.world, mail, clock.date());
      } else seen.set(key, since);
    }
    this.#seen = seen;
  }

  /** Sends a claimed mail, and stores the outcome. Never rejects. */
  async #send(mail: Mail): Promise<void> {
    let outcome: MailOutcome | undefined;
    try {
      outcome = mail.kind === "request" ? await this.#answer(mail) : await this.#transmit(mail);
    } catch (error) {
      // Nothing has been sent: the mail server has not been contacted yet.
      this.#parts.log.warn({ err: error, world: mail.world }, "a mail has to wait");
      outcome = this.#retry(mail, "unreachable");
    }
    if (outcome) await this.#settle(mail, outcome);
  }

  async #transmit(mail: Mail): Promise<MailOutcome> {
    const { settings } = this.#parts;
    const letter = await this.#write(mail);
    if (typeof letter === "string") return { state: "failed", error: letter };
    if (letter.to.address === "") {
      // The address is unknown. Composing the mail anyway takes the same time as for a known
      // address.
      await bytesOf(letter);
      return { state: "failed", error: "no_address" satisfies MailError };
    }
    return this.#outcomeOf(mail, await transmit(settings, letter));
  }

  #outcomeOf(mail: Mail, transmission: Transmission): MailOutcome {
    const { log, clock } = this.#parts;
    if (transmission.result === "taken") {
      this.#pause = 0;
      return { state: "sent" };
    }
    const { result, reason } = transmission;
    if (result === "refused") return { state: "failed", error: reason };
    if (result === "unknown") {
      log.warn({ world: mail.world, reason }, "a mail may have been sent or not");
      return { state: "failed", error: "unknown" satisfies MailError };
    }
    if (transmission.ofMail) return this.#retry(mail, reason);
    // The mail server is unavailable, which would affect every other mail as well.
    this.#pause = Math.min(Math.max(2 * this.#pause, MIN_PAUSE_MS), MAX_PAUSE_MS);
    this.#pausedUntil = clock.now() + this.#pause;
    log.warn({ reason }, "the mail server cannot be used");
    return this.#retry(mail, "unreachable");
  }

  /**
   * @param error the reason shown to hosts. It contains no details of the operator's mail server.
   */
  #retry(mail: Mail, error: string): MailOutcome {
    const due_at = retryAt(mail, this.#parts.clock.date());
    return due_at === undefined ? { state: "failed", error } : { state: "waiting", error, due_at };
  }

  /** Stores an outcome. If that fails for too long, other processes give up the mail. */
  async #settle(mail: Mail, outcome: MailOutcome): Promise<void> {
    const { store, settings, log, clock } = this.#parts;
    const began = clock.now();
    for (;;) {
      try {
        return await store.mails.settle(mail.world, mail, outcome, clock.date());
      } catch (error) {
        if (this.#isClosed || clock.now() - began > settings.lostAfter) {
          log.warn({ err: error, world: mail.world }, "the outcome of a mail could not be stored");
          return;
        }
      }
      await new Promise<void>((resolve) => void clock.after(SETTLE_INTERVAL_MS, resolve));
    }
  }

  /** Replaces a request for a link with one mail per invitation that has the address. */
  async #answer({ world, id, recipient, detail }: Mail): Promise<undefined> {
    const { store, clock } = this.#parts;
    const now = clock.date();
    const place = (await store.worlds.get(world))?.value;
    const known = await store.invitations.byEmail(world, recipient ?? "");
    const standing = known.filter((it) => place && stands(it, place, now));
    const login = { kind: "login", detail, due_at: now } as const;
    // Newer invitations first. A request for an unknown address causes the same amount of work.
    const drafts = standing
      .toReversed()
      .slice(0, MAX_PER_REQUEST)
      .map((it) => ({ ...login, act: `login:${id}:${it.id}`, invitation: it.id }));
    const decoy = { ...login, act: `login:${id}`, recipient: "" };
    await store.mails.answer(world, id, drafts.length > 0 ? drafts : [decoy], now);
  }

  /**
   * Composes a mail from current data.
   * @returns the reason as a string if the mail must not be sent.
   */
  async #write(mail: Mail): Promise<Letter | MailError> {
    const { store, settings, address, clock } = this.#parts;
    const now = clock.date();
    const world = (await store.worlds.get(mail.world))?.value;
    if (!world) return "revoked";
    const at = { address, world: world.id };
    const { kind, detail, invitation: id, recipient } = mail;
    const common = { id: mail.id, world, detail };
    if (kind === "test" || kind === "request") {
      const to = { name: "", address: recipient ?? "" };
      const url = linkTo("event", at);
      return compose(
        { ...common, kind: "test", to, locale: null, url, stopUrl: undefined },
        settings.from,
      );
    }
    // For an unknown address, this does the same amount of work.
    const invitation = await store.invitations.get(world.id, id ?? "");
    if (kind !== "login" || id !== null) {
      if (!stands(invitation, world, now)) return "revoked";
      if (!invitation.email) return "no_address";
    }
    if (kind !== "login" && (await store.mails.stopped(world.id, [id!])).length > 0) {
      return "stopped";
    }
    if (kind === "reminder" && !isTimely(mail, world, now)) return "late";
    const to = { name: invitation?.name ?? "", address: invitation?.email ?? "" };
    const locale = invitation?.language;
    if (kind === "login") {
      const code = randomBytes(32).toString("base64url");
      const page = detail.page ?? "event";
      const ends = now + CODE_LIFETIME_MS;
      await store.mails.issue(world.id, hashOfCode(code), { invitation: id, page }, ends);
      const url = loginLink(page, at, code);
      return compose({ ...common, kind, to, locale, url, stopUrl: undefined }, settings.from);
    }
    const token = await signInvitation(world, invitation!, "link");
    const page = pageOfRole(invitation!.role, world.permission_config);
    const url = linkTo(page, { ...at, token });
    const stopUrl = stopLink(at, mail.id);
    return compose({ ...common, kind, to, locale, url, stopUrl }, settings.from);
  }
}

/**
 * Whether a reminder is still useful: the event may have begun, the event may have moved, or
 * reminders may have been switched off.
 */
function isTimely({ detail: { reminder } }: Mail, world: World, now: number): boolean {
  const start = startOf(world);
  if (start === undefined || !mailWishesOf(world.config).reminders) return false;
  if (!accessOf(world.config).published) return false;
  const rest = start - now;
  return rest > 0 && rest <= (reminder === "hour" ? 1 : 24) * 3_600_000;
}
