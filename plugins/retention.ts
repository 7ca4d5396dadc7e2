import { setTimeout as sleep } from "node:timers/promises";
import fp from "fastify-plugin";
import { type Store, StoreError } from "../db/contract/store.js";
import { INDEX } from "../db/log/entries.js";
import { type Clock, processClock } from "../db/runtime.js";
import { attendanceIn } from "../schemas/plain/attendance.js";
import type { WorldConfig } from "../schemas/worlds.js";

/** The delay between the start and the first check, in milliseconds. */
const FIRST_DELAY_MS = 60_000;

/** And then at this interval. Timers measure it without the clock, which may jump. */
const INTERVAL_MS = 60 * 60_000;

/** The pause between two slices, in milliseconds, for other writes. */
const SLICE_PAUSE_MS = 20;

/** How many worlds are read at once. */
const PAGE_SIZE = 100;

const DAY_MS = 24 * 60 * 60_000;

/** How much more time may have passed by the clock than by timers, in milliseconds. */
const MAX_JUMP_MS = 10 * 60_000;

/** How much newer than every entry of the log the time of a start may be, in milliseconds. */
const MAX_GAP_MS = 7 * DAY_MS;

/** How long a doubtful clock has to go on without a jump, in milliseconds. */
const PROBATION_MS = DAY_MS;

/**
 * How many days a world keeps its chat: `config.chat.retention_days`. Clients can store
 * any value there; only a positive number counts.
 * @returns undefined if it keeps it for ever.
 */
export function retentionOf({ chat }: WorldConfig): number | undefined {
  const days = (chat as { retention_days?: unknown } | null | undefined)?.retention_days;
  return typeof days === "number" && days > 0 ? days : undefined;
}

/** How {@link applyRetention} runs. */
export interface RetentionOptions {
  /** How many days the log of a world is kept; for ever by default. */
  logDays?: number;
  /** How many days the audit of a world is kept; for ever by default. */
  auditDays?: number;
  /** How many days attendance is kept; for ever by default. */
  attendanceDays?: number;
  /** Ends it after the present slice. */
  signal?: AbortSignal;
  /** Takes the error of one world; the other worlds follow. By default it is thrown. */
  onFault?: (error: unknown, world: string) => void;
}

/**
 * Removes events of chat that are older than their world keeps them, with their
 * bytes, and old entries of the log. Several processes may do so at once: each slice is
 * done by one of them.
 * @param now in milliseconds since 1970.
 */
export async function applyRetention(
  store: Store,
  now: number,
  {
    logDays = Infinity,
    auditDays = Infinity,
    attendanceDays = Infinity,
    signal,
    onFault,
  }: RetentionOptions = {},
): Promise<void> {
  const oldest = Math.max(0, now - logDays * DAY_MS);
  const repeat = async (slice: () => Promise<boolean>) => {
    while (!signal?.aborted && (await slice())) await pause(signal);
  };
  await repeat(() => store.log.prune(INDEX, oldest));
  const attendedAfter = Math.max(0, now - attendanceDays * DAY_MS);
  /**
   * Before which times a world keeps no attendance. What it says that it keeps no more goes now; a
   * config that only forgets to say so costs nothing.
   */
  const attended = (config: WorldConfig) => {
    const mode = attendanceIn(config);
    // Only what says so deletes: an old row or an import may have another value.
    const keepsVisits = config.attendance !== "numbers" && config.attendance !== "off";
    return {
      counts: mode === "off" ? now : attendedAfter,
      visits: keepsVisits ? attendedAfter : now,
    };
  };
  let after = "";
  for (;;) {
    const page = await store.worlds.list({ after, limit: PAGE_SIZE });
    for (const { id, config } of page) {
      const before = now - (retentionOf(config) ?? Infinity) * DAY_MS;
      try {
        const noted = Math.max(0, now - auditDays * DAY_MS);
        await repeat(() => store.log.prune(id, oldest, noted));
        const unseen = Math.min(noted, oldest);
        if (noted > 0) await repeat(() => store.audit.prune(id, noted, unseen));
        await repeat(() => store.attendance.prune(id, attended(config)));
        if (before > 0) await repeat(() => store.chat.expire(id, before));
      } catch (error) {
        // It was deleted meanwhile.
        if (error instanceof StoreError && error.problem === "absent") continue;
        if (!onFault) throw error;
        onFault(error, id);
      }
    }
    if (signal?.aborted || page.length < PAGE_SIZE) return;
    after = page.at(-1)!.id;
  }
}

/**
 * Whether the clock of the machine may be believed. Retention deletes for good what is old by it, so a
 * clock that is ahead for an hour would delete what is new.
 */
export class ClockTrust {
  readonly #clock: Pick<Clock, "now" | "date">;
  #last: { readonly now: number; readonly date: number };
  /** Since when the clock is in doubt, by {@link Clock.now}. */
  #doubtedAt: number | undefined;

  constructor(clock: Pick<Clock, "now" | "date">) {
    this.#clock = clock;
    this.#last = this.#read();
  }

  /** Compares the clock with what other starts wrote. @param newest when the newest entry was written. */
  compare(newest: number): void {
    if (this.#last.date - newest > MAX_GAP_MS) {
      this.#doubtedAt = this.#last.now;
    }
  }

  /** Looks at the clock. @returns whether it has gone on without a jump for long enough. */
  isTrusted(): boolean {
    const { now, date } = this.#read();
    const jump = date - this.#last.date - (now - this.#last.now);
    this.#last = { now, date };
    if (Math.abs(jump) > MAX_JUMP_MS) this.#doubtedAt = now;
    if (this.#doubtedAt === undefined) return true;
    if (now - this.#doubtedAt < PROBATION_MS) return false;
    this.#doubtedAt = undefined;
    return true;
  }

  #read() {
    return { now: this.#clock.now(), date: this.#clock.date() };
  }
}

/** When the newest entry of all worlds was written; infinite if there is none. */
async function newestEntry({ worlds, log }: Store): Promise<number> {
  let newest = -Infinity;
  for (let after = ""; ;) {
    const page = await worlds.list({ after, limit: PAGE_SIZE });
    const ids = page.map(({ id }) => id);
    const heads = await log.heads([INDEX, ...ids]);
    for (const [i, { seq }] of heads.entries()) {
      if (seq === 0) continue;
      const { entries } = await log.since(["", ...ids][i]!, seq - 1, 1);
      for (const { at } of entries) newest = Math.max(newest, at);
    }
    if (page.length < PAGE_SIZE) {
      return newest === -Infinity ? Infinity : newest;
    }
    after = page.at(-1)!.id;
  }
}

/** A pause that a signal ends. */
const pause = (signal?: AbortSignal): Promise<void> =>
  sleep(SLICE_PAUSE_MS, undefined, { ...(signal && { signal }) }).catch(() => {});

/** When it runs, in milliseconds. */
interface RetentionTimes {
  first?: number;
  interval?: number;
  clock?: Pick<Clock, "now" | "date">;
}

/** Applies the retention of all worlds soon after the start, and then hourly. */
export default fp<RetentionTimes & Omit<RetentionOptions, "signal" | "onFault">>(
  async (
    app,
    { first = FIRST_DELAY_MS, interval = INTERVAL_MS, clock = processClock, ...days },
  ) => {
    const stop = new AbortController();
    const { signal } = stop;
    let running = Promise.resolve();
    let timer: NodeJS.Timeout | undefined;
    const trust = new ClockTrust(clock);
    /** Read before requests write entries by a clock that may be wrong. */
    let newest: Promise<number> | undefined;

    function schedule(delay: number): void {
      timer = setTimeout(() => {
        running = run();
      }, delay).unref();
    }

    async function run(): Promise<void> {
      const onFault = (error: unknown, world?: string) => {
        if (signal.aborted) return;
        app.log.error({ err: error, world }, "cannot remove old chat");
      };
      try {
        if (newest !== undefined) {
          trust.compare(await newest.catch(() => newestEntry(app.store)));
          newest = undefined;
        }
        if (!trust.isTrusted()) {
          app.log.warn(
            "the clock has jumped, or is far ahead of everything in the log: nothing is deleted for its age until the clock has gone on for a day",
          );
          if (!signal.aborted) schedule(interval);
          return;
        }
        await applyRetention(app.store, clock.date(), { ...days, signal, onFault });
      } catch (error) {
        onFault(error);
      }
      if (!signal.aborted) schedule(interval);
    }

    // Not all processes of a server at the same moment.
    app.addHook("onReady", async () => {
      newest = newestEntry(app.store);
      newest.catch(() => {});
      schedule(first * (1 + Math.random()));
    });
    app.addHook("onClose", async () => {
      stop.abort();
      clearTimeout(timer);
      await running;
    });
  },
  { name: "retention", dependencies: ["engines"] },
);
