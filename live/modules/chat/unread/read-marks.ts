import type { FastifyBaseLogger } from "fastify";
import type { ChatStore, NewMark } from "../../../../db/contract/chat-store.js";
import { laterMark } from "../../../../db/rules/chat-rows.js";
import { type Clock, detach, sleep } from "../../../../db/runtime.js";
import { LiveError } from "../../../rules/problems.js";

/** Minimum interval between two writes, in milliseconds. */
const WRITE_INTERVAL_MS = 1000;

/**
 * Maximum average number of marks written per second: the more marks a write contains, the longer
 * the interval until the next write.
 */
const MAX_MARKS_PER_SECOND = 1000;

/** Number of marks per call to the store. */
const MARKS_PER_WRITE = 500;

/** Maximum number of pending marks while writes to the store fail. Beyond that, new marks are rejected. */
const MAX_PENDING = 200_000;

/** Timeout for the writes during shutdown, and the delay between attempts, in milliseconds. */
const CLOSE_TIMEOUT_MS = 3000;
const CLOSE_PAUSE_MS = 100;

/** The ports of marks. */
export interface ReadMarkPorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  readonly store: { readonly chat: ChatStore };
}

/**
 * The read marks of this process that have not been written yet: the largest mark per user and
 * channel. After a quiet period, a mark is written immediately; the marks of the following second
 * are batched.
 */
export class ReadMarks {
  readonly #ports: ReadMarkPorts;
  readonly #byUser = new Map<string, Map<string, NewMark>>();
  #pending = 0;
  #stopWaiting: (() => void) | undefined;
  #writing = Promise.resolve();
  /** The earliest time of the next write. */
  #nextWrite = 0;
  #closed = false;

  constructor(ports: ReadMarkPorts) {
    this.#ports = ports;
  }

  /** Number of marks that have not been written yet. */
  get pending(): number {
    return this.#pending;
  }

  /**
   * Queues a mark to be written soon.
   * @throws {LiveError} if too many marks are pending, because writes to the store fail.
   */
  add(mark: NewMark): void {
    const { user, channel } = mark;
    let marks = this.#byUser.get(user);
    const before = marks?.get(channel);
    if (!before && this.#pending >= MAX_PENDING) {
      throw new LiveError("server.unavailable");
    }
    if (!before) this.#pending++;
    if (!marks) this.#byUser.set(user, (marks = new Map<string, NewMark>()));
    marks.set(channel, before ? laterMark(before, mark) : mark);
    this.#writeSoon();
  }

  /** Returns a user's marks that the store may lack. */
  of(user: string): Iterable<NewMark> {
    return this.#byUser.get(user)?.values() ?? [];
  }

  /**
   * Records that a stored event has removed a user from a channel's unread list, so that a pending
   * earlier mark does not add the user back.
   */
  unlist(user: string, channel: string, event: number): void {
    const mark = this.#byUser.get(user)?.get(channel);
    if ((mark?.listed ?? event) >= event) return;
    this.#byUser.get(user)!.set(channel, { ...mark!, listed: null });
  }

  #writeSoon(): void {
    if (this.#closed || this.#stopWaiting) return;
    const { clock } = this.#ports;
    this.#stopWaiting = clock.after(Math.max(0, this.#nextWrite - clock.now()), () => {
      this.#writing = this.#write().then(() => {
        this.#stopWaiting = undefined;
        if (this.#pending > 0) this.#writeSoon();
      });
      detach(this.#writing);
    });
  }

  /** Writes all pending marks. ReadMarks that cannot be written stay pending. Never rejects. */
  async #write(): Promise<void> {
    const { clock, log, store } = this.#ports;
    const marks = [...this.#byUser.values()].flatMap((own) => [...own.values()]);
    const least = (marks.length / MAX_MARKS_PER_SECOND) * 1000;
    this.#nextWrite = clock.now() + Math.max(WRITE_INTERVAL_MS, least);
    for (let i = 0; i < marks.length; i += MARKS_PER_WRITE) {
      const slice = marks.slice(i, i + MARKS_PER_WRITE);
      try {
        await store.chat.mark(slice);
        for (const mark of slice) this.#remove(mark);
      } catch (error) {
        log.warn(error, "marks are written later");
      }
    }
  }

  /** Removes a written mark, unless a newer mark has replaced it. */
  #remove(mark: NewMark): void {
    const marks = this.#byUser.get(mark.user);
    if (marks?.get(mark.channel) !== mark) return;
    marks.delete(mark.channel);
    if (marks.size === 0) this.#byUser.delete(mark.user);
    this.#pending--;
  }

  /** Writes all pending marks, and retries until the timeout. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stopWaiting?.();
    await this.#writing;
    const { clock, log } = this.#ports;
    const end = clock.now() + CLOSE_TIMEOUT_MS;
    for (;;) {
      await this.#write();
      if (this.#pending === 0) return;
      if (clock.now() >= end) break;
      await sleep(clock, CLOSE_PAUSE_MS);
    }
    log.error({ marks: this.#pending }, "marks are lost");
  }
}
