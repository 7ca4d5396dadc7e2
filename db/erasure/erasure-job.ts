import { setTimeout as sleep } from "node:timers/promises";
import type { Counts } from "../contract/store.js";
import { eraseRemains, findRemains } from "../domains/chat/chat-erasing.js";
import type { DomainLog, Sql } from "../domains/domain.js";
import { abandonedSince, findAbandoned, removeAbandoned } from "../domains/worlds/removal.js";
import { IS_KNOWN } from "../rules/rows.js";
import { detach } from "../runtime.js";

/** How an engine removes the bytes of what was erased. */
export interface Eraser {
  /** When the first of what is left was erased, in milliseconds since 1970; undefined if nothing is left. */
  oldest(): Promise<number | undefined>;
  /** Does what can be done now. @throws if something keeps the bytes from being removed. */
  run(urgency: Urgency): Promise<Round>;
  /** Runs nothing more. */
  close(): Promise<void>;
}

/**
 * When work may be done that writers could notice: `idle` while nothing is written, `last` as well,
 * but without waiting for such a moment, and `now` in any case.
 */
export type Urgency = "idle" | "last" | "now";

export interface Round {
  /** After how many milliseconds there is more to do; undefined if there is nothing. */
  readonly pause: number | undefined;
  /** What took a round, such as "rewrote users". */
  readonly done: readonly string[];
}

/** How many events of deleted channels one transaction erases. It takes some milliseconds. */
const EVENTS_PER_SLICE = 1000;

/** The shortest pause between two slices, which leaves room for other writes. */
export const SHORTEST_PAUSE_MS = 10;

/**
 * Removes some rows of a world that a process has abandoned, or else erases some events of a
 * deleted channel.
 * @param rows how many rows of a world one transaction removes.
 * @param write runs work in a transaction of a world.
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

/** How soon the job follows an erasure, in milliseconds: several share it. */
const SOON_MS = 1000;

/** How often it looks for what another process has left, in milliseconds. That process has as long itself. */
const PATROL_MS = 10_000;

/** The pauses after failures: at first, and at most, in milliseconds. */
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 10_000;

/** How long a closing job continues, and how often it retries after failures. */
const LAST_MS = 2000;
const LAST_TRIES = 5;

/** From how long on a round is worth a line in the log of operators, in milliseconds. */
const LONG_MS = 1000;

interface JobOptions {
  readonly log?: MaintenanceLog | undefined;
  /** After how long a failing erasure is logged, in milliseconds. */
  readonly overdueAfter?: number | undefined;
}

/**
 * The maintenance job of a process: removes erased bytes from the database files soon after an
 * erasure, without blocking writes, and logs failures that persist.
 */
export class ErasureJob {
  readonly #eraser: Eraser;
  readonly #log: MaintenanceLog | undefined;
  readonly #overdue: OverdueErasures;
  readonly #patrol: NodeJS.Timeout;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  /** Whether something is left that this process knows of. */
  #isLeft = false;
  /** Whether something was erased since the present round began. */
  #isNew = false;
  #retry = FIRST_RETRY_MS;
  #isClosed = false;

  constructor(eraser: Eraser, { log, overdueAfter }: JobOptions = {}) {
    this.#eraser = eraser;
    this.#log = log;
    this.#overdue = new OverdueErasures(log, overdueAfter);
    this.#patrol = setInterval(() => detach(this.#look(PATROL_MS)), PATROL_MS).unref();
    // A killed process may have left something.
    detach(this.#look(0));
  }

  soon(): void {
    this.#isLeft = this.#isNew = true;
    this.#schedule(SOON_MS);
  }

  /** Finishes what can be finished soon, and ends. */
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
        // The next process continues.
        this.#overdue.failed(error);
      }
    }
    await this.#eraser.close();
  }

  /** @param age from how many milliseconds on what is left is the work of this process. */
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

  /** @returns after how many milliseconds it runs again; undefined if nothing is left. */
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
 * Runs rounds until nothing is left.
 * @param bounds how long, in milliseconds, and how many failures in a row it survives.
 * @returns what was done.
 * @throws the error of the last failure.
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
      // An ending process need not leave pauses to other writes.
      if (urgency !== "last") await sleep(pause);
    } catch (error) {
      if (++failures > tries || performance.now() > deadline) throw error;
      await sleep(FIRST_RETRY_MS);
    }
  }
}

/** Takes lines about maintenance, such as a log of the server. */
export interface MaintenanceLog {
  /** Gets what each round of the maintenance did. */
  debug?(line: string): void;
  info(line: string): void;
  error(line: string): void;
}

/** After how long an erasure that keeps failing is an error in the log, in milliseconds. */
const OVERDUE_MS = 60_000;

/** How often that is repeated, in milliseconds. */
const REPEAT_MS = 60 * 60_000;

/**
 * Logs erasures that keep failing. Their requests were answered with success, so only the operator
 * can act on them.
 */
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
   * An attempt failed.
   * @param now as `performance.now` gives it.
   * @param isKnown whether something is left; otherwise only the look at it failed.
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

  /** An attempt succeeded. @param isLeft whether there is more, which waits for its time. */
  succeeded(isLeft = false): void {
    if (this.#reported !== undefined) {
      if (isLeft) return;
      this.#log?.info("Erased data has left the files of the database.");
    }
    this.#since = this.#reported = undefined;
  }
}

// Writes keep the sums of rooms and bytes up to date, and users are counted in an index. So no
// count reads the rows of a table that grows.
const COUNTS = `SELECT (SELECT count(*) FROM worlds) AS worlds,
  (SELECT coalesce(sum(rooms), 0) FROM view_groups) AS rooms,
  (SELECT count(*) FROM users WHERE ${IS_KNOWN}) AS users,
  (SELECT coalesce(sum(file_bytes), 0) FROM worlds) AS "fileBytes",
  (SELECT min(at) FROM erasures) AS oldest`;

/** How much a store holds. @param databaseBytes the size of its files. */
export async function countsIn(
  sql: Sql,
  databaseBytes: () => number | Promise<number>,
): Promise<Counts> {
  const { oldest, ...counts } = (await sql.one<
    Omit<Counts, "erasureAge" | "databaseBytes"> & { oldest: number | null }
  >(COUNTS))!;
  return { ...counts, databaseBytes: await databaseBytes(), erasureAge: ageOf(oldest) };
}

// A write that erases data adds a row to the table `erasures` for each table whose pages may still
// hold the bytes. The job that removes the bytes deletes these rows. So the job of another process
// continues after a kill, and every process can tell the age of the oldest pending erasure.

/** The subject that stands for the write-ahead log of SQLite. */
export const WAL = "wal";

/** After how long bytes in the write-ahead log are overdue, in milliseconds. */
const WAL_OVERDUE_MS = 60_000;

export const TABLE_OVERDUE_MS = 24 * 3_600_000;

/**
 * When the first of what is left was erased, in milliseconds since 1970; undefined if nothing is
 * left. The events of deleted channels, and the rows of worlds that a process has abandoned, are not
 * even erased yet.
 */
export async function oldestErasure(sql: Sql): Promise<number | undefined> {
  const found = await sql.value<number | null>(
    `SELECT coalesce((SELECT min(at) FROM erasures),
       (SELECT CAST($1 AS BIGINT) FROM chat_remains LIMIT 1)) AS at`,
    [Date.now()],
  );
  return found ?? abandonedSince(sql);
}

/** The seconds since a time, in milliseconds since 1970; 0 if there is none. */
const ageOf = (oldest: number | null | undefined): number =>
  typeof oldest === "number" ? Math.max(0, (Date.now() - oldest) / 1000) : 0;

/** What `foyer check` says of erasures that should be over by now. A server finishes what a killed process has left. */
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
