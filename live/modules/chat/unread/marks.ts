import type { FastifyBaseLogger } from "fastify";
import type { ChatStore, NewMark } from "../../../../db/contract/chat-store.js";
import { laterMark } from "../../../../db/rules/chat-rows.js";
import { type Clock, detach, sleep } from "../../../../db/runtime.js";
import { LiveError } from "../../../rules/problems.js";

/** The least time between two writes, in milliseconds. */
const WRITE_INTERVAL_MS = 1000;

/** How many marks are written in a second at most: a crowd that reads along is written less often. */
const MAX_MARKS_PER_SECOND = 1000;

/** How many marks are written at a time. */
const MARKS_PER_WRITE = 500;

/** How many marks may wait when the store does not take any. Then marking is refused. */
const MAX_PENDING = 200_000;

/** How long a process that stops tries to write, and how often, in milliseconds. */
const CLOSE_TIMEOUT_MS = 3000;
const CLOSE_PAUSE_MS = 100;

/** The ports of marks. */
export interface MarkPorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  readonly store: { readonly chat: ChatStore };
}

/**
 * The read marks of this process that are not written yet: the larger of each user in each channel.
 * The first one is written at once, and those that follow within a second together.
 */
export class Marks {
  readonly #ports: MarkPorts;
  readonly #byUser = new Map<string, Map<string, NewMark>>();
  #pending = 0;
  #stopWaiting: (() => void) | undefined;
  #writing = Promise.resolve();
  /** When marks may be written again. */
  #nextWrite = 0;
  #closed = false;

  constructor(ports: MarkPorts) {
    this.#ports = ports;
  }

  /** How many marks are not written yet. */
  get pending(): number {
    return this.#pending;
  }

  /**
   * Writes a mark soon.
   * @throws {LiveError} when the store has taken none for long.
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

  /** The marks of a user that the store may lack. */
  of(user: string): Iterable<NewMark> {
    return this.#byUser.get(user)?.values() ?? [];
  }

  /**
   * A user came off the unread list of a channel by an event that the store knows. An earlier mark
   * must not undo it.
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

  /** Writes what there is now. What fails is left for the next time. It never rejects. */
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

  /** Removes a mark, unless another one has replaced it. */
  #remove(mark: NewMark): void {
    const marks = this.#byUser.get(mark.user);
    if (marks?.get(mark.channel) !== mark) return;
    marks.delete(mark.channel);
    if (marks.size === 0) this.#byUser.delete(mark.user);
    this.#pending--;
  }

  /** Writes everything. */
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
