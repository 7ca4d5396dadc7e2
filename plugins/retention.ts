import { setTimeout as sleep } from "node:timers/promises";
import fp from "fastify-plugin";
import { type Store, StoreError } from "../db/contract/store.js";
import { INDEX } from "../db/log/entries.js";
import { type Clock, processClock } from "../db/runtime.js";
import { attendanceIn } from "../schemas/plain/attendance.js";
import type { WorldConfig } from "../schemas/worlds.js";

/** Delay between startup and the first check, in milliseconds. */
const FIRST_DELAY_MS = 60_000;

/**
 * Interval between subsequent checks, in milliseconds. Timers are monotonic, so clock jumps do not
 * affect the interval.
 */
const INTERVAL_MS = 60 * 60_000;

/** Pause between two slices, which leaves time for other writes, in milliseconds. */
const SLICE_PAUSE_MS = 20;

/** Number of worlds per read. */
const PAGE_SIZE = 100;

const DAY_MS = 24 * 60 * 60_000;

/** Maximum divergence between the wall clock and the monotonic clock from one check to the next, in milliseconds. */
const MAX_JUMP_MS = 10 * 60_000;

/**
 * Maximum time between the newest log entry and the start of the process, in milliseconds. A longer
 * gap puts the clock in doubt.
 */
const MAX_GAP_MS = 7 * DAY_MS;

/** Time that a doubtful clock must run without a jump before it is trusted again, in milliseconds. */
const PROBATION_MS = DAY_MS;

/**
 * Returns how many days a world keeps its chat: `config.chat.retention_days`. Clients can store any
 * value in this field, but only a positive number counts.
 * @returns undefined if the world keeps its chat forever.
 */
export function retentionOf({ chat }: WorldConfig): number | undefined {
  const days = (chat as { retention_days?: unknown } | null | undefined)?.retention_days;
  return typeof days === "number" && days > 0 ? days : undefined;
}

/** Options of {@link applyRetention}. */
export interface RetentionOptions {
  /** Number of days to keep a world's log entries; forever by default. */
  logDays?: number;
  /** Number of days to keep a world's audit entries; forever by default. */
  auditDays?: number;
  /** Number of days to keep attendance entries; forever by default. */
  attendanceDays?: number;
  /** Ends the work after the current slice when the signal aborts. */
  signal?: AbortSignal;
  /**
   * Receives an error that occurs in one world; the remaining worlds are still processed. By
   * default, the error is thrown.
   */
  onFault?: (error: unknown, world: string) => void;
}

/**
 * Removes chat events and captions that have outlived their world's retention, including their bytes in storage,
 * and old log, audit and attendance entries. Several processes may run this function concurrently:
 * each slice is processed by only one process.
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
   * Returns the times before which a world keeps no attendance. Data that the config explicitly
   * excludes is deleted immediately; a config that merely omits the setting loses nothing.
   */
  const attended = (config: WorldConfig) => {
    const mode = attendanceIn(config);
    // Only an explicit value deletes data, because an old row or an import may contain any value.
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
        await repeat(() => store.calls.prune(id, attended(config).counts));
        await store.mails.prune(id, now);
        if (before > 0) await repeat(() => store.chat.expire(id, before));
        if (before > 0) await repeat(() => store.captions.expire(id, before));
      } catch (error) {
        // The world was deleted in the meantime.
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
 * Tracks whether the machine's clock can be trusted. Retention permanently deletes data that is old
 * according to this clock, so a clock that runs ahead for even an hour would delete recent data.
 */
export class ClockTrust {
  readonly #clock: Pick<Clock, "now" | "date">;
  #last: { readonly now: number; readonly date: number };
  /** Time at which the clock was last found doubtful, by {@link Clock.now}; undefined while the clock is trusted. */
  #doubtedAt: number | undefined;

  constructor(clock: Pick<Clock, "now" | "date">) {
    this.#clock = clock;
    this.#last = this.#read();
  }

  /**
   * Compares the clock with the newest entry in the log.
   * @param newest the time at which the newest entry was written.
   */
  compare(newest: number): void {
    if (this.#last.date - newest > MAX_GAP_MS) {
      this.#doubtedAt = this.#last.now;
    }
  }

  /**
   * Checks the clock for jumps.
   * @returns whether the clock has run without a jump for long enough.
   */
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

/** Returns the time of the newest log entry in all worlds, or Infinity if there is no entry. */
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

/** Pauses until the next slice, or until the signal aborts. */
const pause = (signal?: AbortSignal): Promise<void> =>
  sleep(SLICE_PAUSE_MS, undefined, { ...(signal && { signal }) }).catch(() => {});

/** Overrides for the schedule, in milliseconds, and for the clock. */
interface RetentionTimes {
  first?: number;
  interval?: number;
  clock?: Pick<Clock, "now" | "date">;
}

/** Applies retention to all worlds soon after startup, and then hourly. */
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
    /**
     * The time of the newest log entry. Determined before any request writes entries, because a
     * wrong clock would give new entries wrong times.
     */
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

    // Jitter keeps the processes of a server from running simultaneously.
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
