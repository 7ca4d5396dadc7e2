import { setTimeout as sleep } from "node:timers/promises";
import type { StoreCounts } from "../contract/store.js";
import { eraseRemains, findRemains } from "../domains/chat/chat-erasing.js";
import type { DomainLog, Sql } from "../domains/domain.js";
import { abandonedSince, findAbandoned, removeAbandoned } from "../domains/worlds/removal.js";
import { IS_KNOWN } from "../rules/rows.js";
import { detach } from "../runtime.js";

/** Removes the remaining bytes of erased data, in an engine-specific manner. */
export interface Eraser {
  /**
   * Returns the time of the oldest pending erasure, in milliseconds since 1970, or undefined if
   * nothing is pending.
   */
  oldest(): Promise<number | undefined>;
  /** Does as much work as is possible now. @throws if something prevents the bytes from being removed. */
  run(urgency: Urgency): Promise<Round>;
  /** Stops the eraser. */
  close(): Promise<void>;
}

/**
 * When to do work that may delay writers: `idle` waits until nothing is being written, `last` skips
 * the work if something is being written, and `now` never waits.
 */
export type Urgency = "idle" | "last" | "now";

export interface Round {
  /** Milliseconds until more work is due, or undefined if no work is left. */
  readonly pause: number | undefined;
  /** The work done in the round, for example "rewrote users". */
  readonly done: readonly string[];
}

/** Maximum number of events in deleted channels that one transaction erases. Takes a few milliseconds. */
const EVENTS_PER_SLICE = 1000;

/** Minimum pause between two slices, to make room for other writes. */
export const SHORTEST_PAUSE_MS = 10;

/**
 * Removes rows from an abandoned world or, if no world is abandoned, erases events in a deleted
 * channel.
 * @param rows maximum number of a world's rows that one transaction removes.
 * @param write runs work in a transaction on one world.
 * @returns undefined if nothing is left.
 */
export async function eraseSlice(
  sql: Sql,
  rows: number,
  write: (
    world: string,
    work: (sql: Sql, log: Pick<DomainLog, "erased">) => Promise<void>,
  ) => Promise<void>,
): Promise<Round | undefined> {
  const started = performance.now();
  const over = (done: string): Round => ({
    pause: Math.max(SHORTEST_PAUSE_MS, performance.now() - started),
    done: [done],
  });
  const world = await findAbandoned(sql);
  if (world !== undefined) {
    await write(world, (sql, log) => removeAbandoned(sql, log, world, rows));
    return over(`removed rows of the world ${world}`);
  }
  const remains = await findRemains(sql);
  if (!remains) return undefined;
  await write(remains.world, (sql, log) => eraseRemains(sql, log, remains, EVENTS_PER_SLICE));
  return over("erased messages of deleted channels");
}

/** Delay between an erasure and the next round, in milliseconds, so that several erasures share a round. */
const SOON_MS = 1000;

/**
 * Interval between checks for work left by other processes, in milliseconds. Also the minimum age
 * of such work, so that the other processes have time to finish it themselves.
 */
const PATROL_MS = 10_000;

/** Minimum and maximum delay before a retry, in milliseconds. */
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 10_000;

/** Time limit for closing a job, in milliseconds, and the maximum number of consecutive failures. */
const LAST_MS = 2000;
const LAST_TRIES = 5;

/** Minimum duration of rounds that are reported in the operator's log, in milliseconds. */
const LONG_MS = 1000;

interface JobOptions {
  readonly log?: MaintenanceLog | undefined;
  /** Time after which a failing erasure is logged, in milliseconds. */
  readonly overdueAfter?: number | undefined;
}

/**
 * A process's maintenance job: removes erased bytes from the database files soon after an erasure,
 * without blocking writes, and logs failures that persist.
 */
export class ErasureJob {
  readonly #eraser: Eraser;
  readonly #log: MaintenanceLog | undefined;
  readonly #overdue: OverdueErasures;
  readonly #patrol: NodeJS.Timeout;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  /** Whether this process knows of pending work. */
  #isLeft = false;
  /** Whether anything has been erased since the current round began. */
  #isNew = false;
  #retry = FIRST_RETRY_MS;
  #isClosed = false;

  constructor(eraser: Eraser, { log, overdueAfter }: JobOptions = {}) {
    this.#eraser = eraser;
    this.#log = log;
    this.#overdue = new OverdueErasures(log, overdueAfter);
    this.#patrol = setInterval(() => detach(this.#look(PATROL_MS)), PATROL_MS).unref();
    // A killed process may have left work behind.
    detach(this.#look(0));
  }

  soon(): void {
    this.#isLeft = this.#isNew = true;
    this.#schedule(SOON_MS);
  }

  /** Does as much of the pending work as possible within a short time, and then stops the job. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#patrol);
    clearTimeout(this.#timer);
    await this.#working;
    if (this.#isLeft) {
      try {
        await finishErasures(this.#eraser, "last", { limit: LAST_MS, tries: LAST_TRIES });
      } catch (error) {
        // Another process will finish the work.
        this.#overdue.failed(error);
      }
    }
    await this.#eraser.close();
  }

  /** @param age minimum age of pending work for this process to take it over, in milliseconds. */
  async #look(age: number): Promise<void> {
    if (this.#isLeft) return;
    try {
      const oldest = await this.#eraser.oldest();
      if (oldest === undefined) this.#overdue.succeeded();
      else if (Date.now() - oldest >= age) this.soon();
    } catch (error) {
      this.#overdue.failed(error, performance.now(), this.#isLeft);
    }
  }

  #schedule(pause: number): void {
    if (this.#timer || this.#working || this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#working = this.#run().then((next) => {
        this.#working = undefined;
        if (next !== undefined) this.#schedule(next);
      });
      detach(this.#working);
    }, pause).unref();
  }

  /** @returns the number of milliseconds until the next run, or undefined if no work is left. */
  async #run(): Promise<number | undefined> {
    this.#isNew = false;
    const started = performance.now();
    try {
      const { pause, done } = await this.#eraser.run("idle");
      const took = Math.round(performance.now() - started);
      const line = `Removing erased data: ${done.join(", ")} in ${took} ms.`;
      if (done.length > 0 && took >= LONG_MS) this.#log?.info(line);
      else if (done.length > 0) this.#log?.debug?.(line);
      this.#retry = FIRST_RETRY_MS;
      const next = pause ?? (this.#isNew ? SOON_MS : undefined);
      this.#isLeft = next !== undefined;
      this.#overdue.succeeded(this.#isLeft);
      return next;
    } catch (error) {
      this.#overdue.failed(error);
      const pause = this.#retry;
      this.#retry = Math.min(2 * pause, LONGEST_RETRY_MS);
      return pause;
    }
  }
}

/**
 * Runs rounds until no work is left, or until the time limit.
 * @param bounds the time limit, in milliseconds, and the maximum number of consecutive failures.
 * @returns the work that was done.
 * @throws the last error, if too many rounds fail or a round fails after the time limit.
 */
export async function finishErasures(
  eraser: Eraser,
  urgency: Urgency,
  { limit, tries }: { limit: number; tries: number },
): Promise<string[]> {
  const deadline = performance.now() + limit;
  const all: string[] = [];
  for (let failures = 0; ;) {
    try {
      const { pause, done } = await eraser.run(urgency);
      all.push(...done);
      if (pause === undefined || performance.now() > deadline) return all;
      failures = 0;
      // An exiting process does not have to make room for other writes.
      if (urgency !== "last") await sleep(pause);
    } catch (error) {
      if (++failures > tries || performance.now() > deadline) throw error;
      await sleep(FIRST_RETRY_MS);
    }
  }
}

/** A log for lines about maintenance, such as the server's log. */
export interface MaintenanceLog {
  /** Receives the work done in each round. */
  debug?(line: string): void;
  info(line: string): void;
  error(line: string): void;
}

/** Time after which a persistently failing erasure is logged as an error, in milliseconds. */
const OVERDUE_MS = 60_000;

/** Interval at which the error about a failing erasure is repeated, in milliseconds. */
const REPEAT_MS = 60 * 60_000;

/** Logs erasures that keep failing. The requests behind them have already succeeded, so only the operator can act. */
export class OverdueErasures {
  readonly #log: MaintenanceLog | undefined;
  readonly #overdueAfter: number;
  #since: number | undefined;
  #reported: number | undefined;

  constructor(log: MaintenanceLog | undefined, overdueAfter = OVERDUE_MS) {
    this.#log = log;
    this.#overdueAfter = overdueAfter;
  }

  /**
   * Records a failed attempt.
   * @param now a `performance.now()` timestamp.
   * @param isKnown whether work is known to be pending. Otherwise, only the check for pending work
   * failed.
   */
  failed(reason: unknown, now = performance.now(), isKnown = true): void {
    this.#since ??= now;
    if (now - this.#since < this.#overdueAfter) return;
    if (now - (this.#reported ?? -Infinity) < REPEAT_MS) return;
    this.#reported = now;
    const seconds = Math.round((now - this.#since) / 1000);
    const message = reason instanceof Error ? reason.message : String(reason);
    const what = isKnown ? "Erased data has been" : "Erased data may have been";
    this.#log?.error(`${what} in the files of the database for ${seconds} seconds: ${message}`);
  }

  /** Records a successful attempt. @param isLeft whether work is left that is not due yet. */
  succeeded(isLeft = false): void {
    if (this.#reported !== undefined) {
      if (isLeft) return;
      this.#log?.info("Erased data has left the files of the database.");
    }
    this.#since = this.#reported = undefined;
  }
}

// Writes maintain the totals of rooms and bytes, and users are counted with an index, so that no
// query scans a growing table.
const COUNTS = `SELECT (SELECT count(*) FROM worlds) AS worlds,
  (SELECT coalesce(sum(rooms), 0) FROM view_groups) AS rooms,
  (SELECT count(*) FROM users WHERE ${IS_KNOWN}) AS users,
  (SELECT coalesce(sum(file_bytes), 0) FROM worlds) AS "fileBytes",
  (SELECT min(at) FROM erasures) AS oldest`;

/** Returns a store's statistics. @param databaseBytes returns the size of the database. */
export async function countsIn(
  sql: Sql,
  databaseBytes: () => number | Promise<number>,
): Promise<StoreCounts> {
  const { oldest, ...counts } = (await sql.one<
    Omit<StoreCounts, "erasureAge" | "databaseBytes"> & { oldest: number | null }
  >(COUNTS))!;
  return { ...counts, databaseBytes: await databaseBytes(), erasureAge: ageOf(oldest) };
}

// A write that erases data adds a row to `erasures` for each table whose pages may still contain
// the bytes. The job deletes these rows once it has removed the bytes. If a process is killed,
// another process's job can therefore continue, and every process can determine the age of the
// oldest pending erasure.

/** The subject that represents SQLite's write-ahead log. */
export const WAL = "wal";

/** Age at which bytes in the write-ahead log are overdue, in milliseconds. */
const WAL_OVERDUE_MS = 60_000;

export const TABLE_OVERDUE_MS = 24 * 3_600_000;

/**
 * Returns the time of the oldest pending erasure, in milliseconds since 1970, or undefined if
 * nothing is pending. Events in deleted channels and rows of abandoned worlds also count, although
 * they have not been erased at all yet.
 */
export async function oldestErasure(sql: Sql): Promise<number | undefined> {
  const found = await sql.value<number | null>(
    `SELECT coalesce((SELECT min(at) FROM erasures),
       (SELECT CAST($1 AS BIGINT) FROM chat_remains LIMIT 1)) AS at`,
    [Date.now()],
  );
  return found ?? abandonedSince(sql);
}

/** Returns the number of seconds since a time in milliseconds since 1970, or 0 if no time is given. */
const ageOf = (oldest: number | null | undefined): number =>
  typeof oldest === "number" ? Math.max(0, (Date.now() - oldest) / 1000) : 0;

/**
 * Returns the findings of `foyer check` about overdue erasures. Recent erasures are not reported,
 * because a running server finishes the work of a killed process.
 */
export async function overdueErasures(sql: Sql): Promise<string[]> {
  const now = Date.now();
  const oldest = await sql.value<number | null>(
    `SELECT min(at) AS at FROM erasures
     WHERE at < CASE subject WHEN '${WAL}' THEN CAST($1 AS BIGINT) ELSE CAST($2 AS BIGINT) END`,
    [now - WAL_OVERDUE_MS, now - TABLE_OVERDUE_MS],
  );
  const since = oldest ?? (await abandonedSince(sql));
  if (since === undefined || now - since < WAL_OVERDUE_MS) return [];
  return [
    `still holds data that was erased at ${new Date(since).toISOString()}; a running server removes it, unless its log says why it cannot, and foyer maintain removes it at once`,
  ];
}
