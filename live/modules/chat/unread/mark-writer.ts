import type { FastifyBaseLogger } from "fastify";
import type { ChatStore } from "../../../../db/contract/chat.js";
import { StoreError } from "../../../../db/contract/store.js";
import { detach } from "../../../../db/detach.js";
import { type Clock, sleep } from "../../../../db/log/clock.js";
import { type Made, type MarkMap, rowsOf } from "./mark.js";

/**
 * How long a mark waits until it is written, in milliseconds. A reader of a busy room makes
 * one for each message, and only the last is written.
 */
const WRITE_DELAY = 10_000;

/** How long marks of users who left wait for each other, in milliseconds. */
const LEAVE_DELAY = 20;

/** How long marks wait that could not be written, in milliseconds. */
const RETRY_DELAY = 1000;

/** After how many faults of the server in a row marks are given up. */
const MAX_FAULTS = 10;

/** How many marks are written at a time. */
const SLICE = 200;

/** How long a process that stops tries to write, and how often, in milliseconds. */
const CLOSE_PATIENCE = 3000;
const CLOSE_PAUSE = 100;

/** The ports of a writer of marks. */
export interface MarkWriterPorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  readonly store: { readonly chat: ChatStore };
}

/** What follows writes. */
interface AfterWrites {
  /** These marks are written, or given up. */
  readonly wrote: (marks: readonly Made[]) => void;
  /** A round of writes is over; some marks may be left. */
  readonly rested: () => void;
}

/** Writes the marks of this process: now and then all of them, and at once the marks of users who leave. */
export class MarkWriter {
  readonly #ports: MarkWriterPorts;
  readonly #own: MarkMap;
  readonly #after: AfterWrites;
  #stopWriting: (() => void) | undefined;
  /** The users who left, and whose marks are written next. */
  readonly #left = new Set<string>();
  #writing: Promise<void> = Promise.resolve();
  /** How often in a row some marks could not be written by a fault of the server. */
  #faults = 0;
  #closed = false;

  /** @param own the marks that are not written yet. A mark that is written is removed. */
  constructor(ports: MarkWriterPorts, own: MarkMap, after: AfterWrites) {
    this.#ports = ports;
    this.#own = own;
    this.#after = after;
  }

  /** The last connection of a user has left: the next one may be elsewhere. */
  leave(user: string): void {
    if (this.#closed || !this.#own.has(user)) return;
    if (this.#left.size === 0) {
      this.#ports.clock.after(LEAVE_DELAY, () => {
        const left = [...this.#left];
        this.#left.clear();
        const marks = () => left.flatMap((name) => [...this.#own.of(name)]);
        detach(this.#write(marks));
      });
    }
    this.#left.add(user);
  }

  /** Some marks are not written yet. */
  writeSoon(delay = WRITE_DELAY): void {
    if (this.#closed) return;
    this.#stopWriting ??= this.#ports.clock.after(delay, () => {
      const written = this.#writeAll().then((isDone) => {
        this.#stopWriting = undefined;
        if (this.#own.size > 0)
          this.writeSoon(isDone ? undefined : RETRY_DELAY);
      });
      detach(written);
    });
  }

  #writeAll(): Promise<boolean> {
    return this.#write(() => [...this.#own.all()]);
  }

  /**
   * Writes marks after those that are being written. Failed ones stay.
   * @param marks chooses them when it is their turn.
   * @returns whether none has failed. It never rejects.
   */
  #write(marks: () => readonly Made[]): Promise<boolean> {
    const written = this.#writing.then(() => this.#store(marks()));
    this.#writing = written.then(() => {});
    return written;
  }

  async #store(all: readonly Made[]): Promise<boolean> {
    let isDone = true;
    let hasFault = false;
    for (let i = 0; i < all.length; i += SLICE) {
      const slice = all
        .slice(i, i + SLICE)
        .filter((mark) => this.#own.get(mark.user, mark.channel) === mark);
      if (slice.length === 0) continue;
      try {
        await this.#ports.store.chat.mark(slice.flatMap(rowsOf));
      } catch (error) {
        if (error instanceof StoreError) {
          this.#ports.log.warn(error, "marks are written later");
          isDone = false;
          break;
        }
        this.#ports.log.error(error, "marks could not be written");
        hasFault = true;
        isDone = false;
        // It must not hold up the others, nor be repeated for ever.
        if (this.#faults < MAX_FAULTS) continue;
      }
      this.#after.wrote(slice.filter((mark) => this.#own.delete(mark)));
    }
    this.#faults = hasFault ? this.#faults + 1 : 0;
    this.#after.rested();
    return isDone;
  }

  /** Writes everything. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stopWriting?.();
    await this.#writing;
    const { clock } = this.#ports;
    const ends = clock.now() + CLOSE_PATIENCE;
    while (this.#own.size > 0) {
      await this.#writeAll();
      if (this.#own.size === 0) break;
      if (clock.now() >= ends) {
        this.#ports.log.error({ marks: this.#own.size }, "marks are lost");
        break;
      }
      await sleep(clock, CLOSE_PAUSE);
    }
  }
}
