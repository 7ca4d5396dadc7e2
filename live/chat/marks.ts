import { setTimeout as delay } from "node:timers/promises";
import type { Events } from "../../db/events.js";
import { StoreError } from "../../db/store.js";
import {
  isId,
  isKindOf,
  isListOf,
  isNumber,
  isRecord,
} from "../../schemas/plain/shapes.js";
import type { Live } from "../live.js";
import { LiveError } from "../problems.js";
import { isMade, type Made, MarkMap, rowsOf } from "./mark-map.js";

/** What processes tell each other. */
type Report = { process: string } & (
  | /** A process asks the others, or one of them, for the marks that are not written yet. */ {
      report: "hello";
      to?: string;
    }
  | /** Marks since the last report; with `to`, all that are not written yet. */ {
      report: "marks";
      marks: Made[];
      to?: string;
    }
  | /** All marks of this process up to a time are written. */ {
      report: "written";
      until: number;
    }
);

const isReport = isKindOf("report", {
  hello: isRecord({ process: isId }, { to: isId }),
  marks: isRecord({ process: isId, marks: isListOf(isMade) }, { to: isId }),
  written: isRecord({ process: isId, until: isNumber }),
});

const TOPIC = "marks";

/** After how many milliseconds marks are reported to other processes, together. */
const REPORT_DELAY = 20;

/** How long a mark waits until it is written, in milliseconds. */
const WRITE_DELAY = 1000;

/** After how many faults of the server in a row marks are given up. */
const MAX_FAULTS = 10;

/** How many marks are written at a time. */
const SLICE = 200;

/** How many marks are told of in one message. */
const REPORTED = 1000;

/** How many marks may wait when the store does not take any. Then marking is refused. */
const MAX_PENDING = 200_000;

/** How long a process that stops tries to write, and how often, in milliseconds. */
const CLOSE_PATIENCE = 3000;
const CLOSE_PAUSE = 100;

/**
 * How far people have read, until it is written. A room full of people marks every
 * message, so marks stay in memory, and the last one of each user in each channel is
 * written about a second later. Other processes learn of a mark at once, and take
 * over the marks of a process that ends.
 */
export class Marks {
  readonly #live: Live;
  readonly #events: Events;
  readonly #onForeign: (mark: Made) => void;
  readonly #own = new MarkMap();
  /** The marks that other processes will write. */
  readonly #foreign = new Map<string, MarkMap>();
  readonly #unsubscribe: () => void;
  #unreported: Made[] = [];
  #lastAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #reporting: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** How often in a row some marks could not be written by a fault of the server. */
  #faults = 0;
  #closed = false;

  /** @param onForeign is told of each mark that was made in another process. */
  constructor(live: Live, onForeign: (mark: Made) => void) {
    this.#live = live;
    this.#events = live.events;
    this.#onForeign = onForeign;
    this.#unsubscribe = live.events.subscribe((event) => {
      if (event.type === "process.ended") this.#adopt(event.process);
      else if (event.type === "process.began") this.#ask(event.process);
      else if (event.type === "events.missed") {
        this.#ask();
        this.#reportAll();
      } else if (event.type === "live" && event.topic === TOPIC) {
        if (isReport(event.data)) this.#receive(event.data as Report);
      }
    });
    this.#ask();
  }

  /** How many marks of this process are not written yet. */
  get pending(): number {
    return this.#own.size;
  }

  /**
   * Takes a mark of this moment.
   * @throws {LiveError} when the store has taken none for long.
   */
  make(mark: Omit<Made, "cleared" | "at">): Made {
    const { world, user, channel, pointer, listed } = mark;
    const before = this.#own.get(user, channel);
    if (!before && this.pending >= MAX_PENDING) {
      throw new LiveError("server.unavailable", "Try again later.");
    }
    const cleared = Math.max(before?.cleared ?? 0, pointer);
    const at = this.#now();
    const made = { world, user, channel, pointer, listed, cleared, at };
    this.#keep(made);
    this.#unreported.push(made);
    this.#reporting ??= setTimeout(() => this.#report(), REPORT_DELAY).unref();
    return made;
  }

  /**
   * Somebody came onto or off an unread list by an event of the channel, which the
   * store knows. A mark that was made before must not undo it.
   * @param listed as in {@link Mark}.
   */
  relist(user: string, channel: string, event: number, listed: number | null) {
    const mark = this.#own.get(user, channel);
    if (mark && (mark.listed ?? 0) < event) this.#own.set({ ...mark, listed });
  }

  /** The marks of a user that may not be written yet, by channel. */
  of(user: string): ReadonlyMap<string, Made> {
    const found = new Map<string, Made>();
    for (const marks of [this.#own, ...this.#foreign.values()]) {
      for (const mark of marks.of(user)) {
        const known = found.get(mark.channel);
        if (!known || mark.at > known.at) found.set(mark.channel, mark);
      }
    }
    return found;
  }

  #now(): number {
    const now = performance.timeOrigin + performance.now();
    return (this.#lastAt = Math.max(now, this.#lastAt + 0.001));
  }

  #keep(mark: Made): void {
    this.#own.set(mark);
    this.#writeSoon();
  }

  #writeSoon(): void {
    if (this.#closed) return;
    this.#timer ??= setTimeout(() => {
      this.#writing = this.#write().finally(() => {
        this.#timer = undefined;
        if (this.pending > 0) this.#writeSoon();
      });
    }, WRITE_DELAY).unref();
  }

  /** Writes what there is now. What fails stays. */
  async #write(): Promise<void> {
    const all = [...this.#own.all()];
    let hasFault = false;
    for (let i = 0; i < all.length; i += SLICE) {
      const slice = all
        .slice(i, i + SLICE)
        .filter((mark) => this.#own.get(mark.user, mark.channel) === mark);
      if (slice.length === 0) continue;
      try {
        await this.#live.store.chat.mark(slice.flatMap(rowsOf));
      } catch (error) {
        if (error instanceof StoreError) {
          this.#live.log.warn(error, "marks are written later");
          break;
        }
        this.#live.log.error(error, "marks could not be written");
        hasFault = true;
        // It must not hold up the others, nor be repeated for ever.
        if (this.#faults < MAX_FAULTS) continue;
      }
      for (const mark of slice) this.#own.delete(mark);
    }
    this.#faults = hasFault ? this.#faults + 1 : 0;
    this.#report();
    this.#reportWritten();
  }

  #reportWritten(): void {
    let until = this.#lastAt;
    for (const { at } of this.#own.all()) until = Math.min(until, at - 0.001);
    const { process } = this.#events;
    this.#send({ report: "written", process, until });
  }

  /** Tells the others, or one of them, of all marks that are not written yet. */
  #reportAll(to?: string): void {
    this.#report();
    const { process } = this.#events;
    const marks = [...this.#own.all()];
    for (let i = 0; i < marks.length; i += REPORTED) {
      this.#send({
        report: "marks",
        process,
        marks: marks.slice(i, i + REPORTED),
        ...(to !== undefined && { to }),
      });
    }
    this.#reportWritten();
  }

  #ask(to?: string): void {
    const { process } = this.#events;
    this.#send({ report: "hello", process, ...(to !== undefined && { to }) });
  }

  #report(): void {
    clearTimeout(this.#reporting);
    this.#reporting = undefined;
    const marks = this.#unreported;
    if (marks.length === 0) return;
    this.#unreported = [];
    this.#send({ report: "marks", process: this.#events.process, marks });
  }

  #send(data: Report): void {
    this.#events.publish({ type: "live", topic: TOPIC, data });
  }

  #receive(report: Report): void {
    const { process } = report;
    const own = this.#events.process;
    if (process === own) return;
    if (report.report === "hello") {
      if (report.to === undefined || report.to === own) {
        this.#reportAll(process);
      }
    } else if (report.report === "written") {
      // A read of this turn may still see the store as it was before.
      const forget = () => this.#forget(process, report.until);
      setTimeout(forget, REPORT_DELAY).unref();
    } else if (report.to === undefined || report.to === own) {
      for (const mark of report.marks) this.#take(process, mark);
    }
  }

  /** The marks of another process up to a time are written. */
  #forget(process: string, until: number): void {
    const marks = this.#foreign.get(process);
    for (const mark of marks?.all() ?? []) {
      if (mark.at <= until) marks!.delete(mark);
    }
    if (marks?.size === 0) this.#foreign.delete(process);
  }

  #take(process: string, mark: Made): void {
    let marks = this.#foreign.get(process);
    if (!marks) this.#foreign.set(process, (marks = new MarkMap()));
    const known = marks.get(mark.user, mark.channel);
    if (known && known.at >= mark.at) return;
    marks.set(mark);
    const own = this.#own.get(mark.user, mark.channel);
    if (own) {
      const isLater =
        mark.at > own.at ||
        (mark.at === own.at && process > this.#events.process);
      // Only the process with the last mark writes. What the other one removes, it removes, too.
      if (isLater) this.#own.delete(own);
      else {
        const cleared = Math.max(own.cleared, mark.cleared);
        this.#own.set({ ...own, cleared });
        return;
      }
    }
    this.#onForeign(mark);
  }

  /**
   * Takes over what a process has not written. Several may do so; it is the same. A process
   * that was only silent may have written later marks, and these must not go back.
   */
  #adopt(process: string): void {
    const marks = this.#foreign.get(process);
    this.#foreign.delete(process);
    for (const mark of marks?.all() ?? []) {
      const own = this.#own.get(mark.user, mark.channel);
      if (!own || own.at < mark.at) this.#keep({ ...mark, forward: true });
    }
  }

  /** Writes everything. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#writing;
    const ends = performance.now() + CLOSE_PATIENCE;
    while (this.pending > 0) {
      await this.#write();
      if (this.pending === 0) break;
      if (performance.now() >= ends) {
        this.#live.log.error({ marks: this.pending }, "marks are lost");
        break;
      }
      await delay(CLOSE_PAUSE);
    }
    this.#report();
    this.#unsubscribe();
  }
}
