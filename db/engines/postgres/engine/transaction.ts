import pLimit from "p-limit";
import type pg from "pg";
import type { Author } from "../../../contract/author.js";
import { StoreError } from "../../../contract/store.js";
import type { Sql } from "../../../domains/domain.js";
import { LogDraft } from "../../../log/draft.js";
import { type Entry, type Hint, INDEX } from "../../../log/entries.js";
import { detach } from "../../../runtime.js";
import {
  eraseData,
  headOf,
  LOCKED_INDEX,
  Log,
  TransactionEffects,
  notingErasures,
  positionIn,
  storing,
  type EntryAuthor,
} from "../log/postgres-log.js";
import { withQueryTimeout, storeErrorOf } from "./pg-client.js";
import { DEADLINES } from "./pool.js";
import { LOCK_OF_WORLDS, lockOfWorld, sqlOn } from "./postgres-sql.js";

export interface Job {
  readonly run: (sql: Sql, log: Log) => Promise<unknown>;
  /** The author; undefined for the store's default author. */
  readonly by: EntryAuthor;
  /** Whether the job also needs {@link LOCK_OF_WORLDS}. If so, it runs in a transaction by itself. */
  readonly all: boolean;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A transaction that was committed, or in which every job failed. */
export interface CommittedJobs {
  readonly hints: readonly Hint<Entry>[];
  /** Resolves or rejects each job. */
  readonly settle: () => void;
}

/** Matches statements that change nothing. Any other statement, such as SAVEPOINT, is assumed to change something. */
const READS = /^\s*(?:SELECT|WITH)\b(?![^]*\b(?:INSERT|UPDATE|DELETE|MERGE)\b)/;

/**
 * Whether each statement may change something, by SQL text. The map stays small, because there are
 * few distinct statements.
 */
const changing = new Map<string, boolean>();

function mayChange(text: string): boolean {
  let known = changing.get(text);
  if (known === undefined) changing.set(text, (known = !READS.test(text)));
  return known;
}

/** Options shared by all writes of a store. */
export interface TransactionOptions {
  /** The author of jobs that name no author. */
  readonly author: Author;
  readonly audits: boolean;
}

/**
 * Runs a world's writes in one transaction. Each write succeeds or fails independently.
 * @param noted receives the effects of all jobs, even if the commit is doubtful.
 * @throws {StoreError} `doubtful` if the connection is lost during the commit. Also throws errors
 * from pg. In either case, no job has been settled.
 */
export async function transact(
  client: pg.ClientBase,
  world: string,
  jobs: readonly Job[],
  writing: TransactionOptions,
  noted: TransactionEffects,
): Promise<CommittedJobs> {
  const parts = { client, world, jobs, writing, noted };
  // First try without savepoints: each savepoint costs a round trip, and few writes fail after
  // changing something.
  return (await attempt(parts, false)) ?? (await attempt(parts, true))!;
}

interface Parts {
  readonly client: pg.ClientBase;
  readonly world: string;
  readonly jobs: readonly Job[];
  readonly writing: TransactionOptions;
  readonly noted: TransactionEffects;
}

/**
 * Runs the jobs once.
 * @param isSafe whether each job gets a savepoint.
 * @returns undefined if a job without a savepoint failed after it may have changed something, so
 * that all jobs must run again.
 */
async function attempt(
  { client, world, jobs, writing, noted }: Parts,
  isSafe: boolean,
): Promise<CommittedJobs | undefined> {
  /** Whether the current job may have changed something, or aborted the transaction. */
  let isTouched = false;
  const sql = sqlOn((query) => {
    isTouched ||= mayChange(query.text);
    return client.query(query).catch((error: unknown) => {
      isTouched = true;
      throw error;
    });
  });
  const answers: (() => void)[] = [];
  const heads = new Map([[world, await begin(client, world, jobs[0]!.all)]]);
  const draft = new LogDraft((one) => heads.get(one)!, undefined, writing.audits);
  const notes = new TransactionEffects();
  for (const job of jobs) {
    const { resolve, reject } = job;
    // A failed statement aborts the whole transaction, unless there is a savepoint.
    if (isSafe) await client.query("SAVEPOINT job");
    isTouched = false;
    const mark = draft.mark();
    const own = new TransactionEffects();
    try {
      const log = new Log({ draft, world, noted: own }, job.by, writing.author);
      const result = await job.run(sql, log);
      notes.add(own);
      answers.push(() => resolve(result));
    } catch (error) {
      const fault = storeErrorOf(error);
      // The connection is lost, and the whole transaction with it.
      if (fault?.problem === "unusable") throw error;
      if (jobs.length === 1) {
        await client.query("ROLLBACK");
        return { hints: [], settle: () => reject(fault ?? error) };
      }
      if (isSafe) await client.query("ROLLBACK TO SAVEPOINT job");
      else if (isTouched) {
        await client.query("ROLLBACK");
        return undefined;
      }
      draft.back(mark);
      answers.push(() => reject(fault ?? error));
    }
  }
  noted.add(notes);
  if (noted.isDataErased) {
    const { rowCount } = await client.query(eraseData(world));
    if (rowCount! > 0) noted.erased.add("log");
  }
  if (noted.index.length > 0) {
    const { rows } = await client.query<Record<"seq" | "tag", unknown>>(LOCKED_INDEX);
    heads.set(INDEX, positionIn(rows[0]));
    for (const { change, by } of noted.index) draft.append(INDEX, change, by);
  }
  const hints = draft.finish();
  await commit(client, {
    before: [...storing(draft, !noted.isDataErased), ...notingErasures(noted.erased)],
    deadline: DEADLINES.commit,
  });
  return { hints, settle: () => answers.forEach((answer) => answer()) };
}

/** Begins a transaction, and waits for the world's lock. @returns the position of the world's last entry. */
async function begin(client: pg.ClientBase, world: string, all: boolean) {
  const locks = [...(all ? [LOCK_OF_WORLDS] : []), lockOfWorld(world)];
  // With READ COMMITTED, statements see all earlier commits even after waiting for the lock.
  const begin = "BEGIN ISOLATION LEVEL READ COMMITTED";
  const results = (await client.query(
    withQueryTimeout([begin, ...locks, headOf(world)].join("; "), DEADLINES.locks(locks.length)),
  )) as unknown as pg.QueryResult<Record<"seq" | "tag", unknown>>[];
  return positionIn(results.at(-1)!.rows[0]);
}

/**
 * Commits the transaction.
 * @param options.before statements to run just before the commit.
 * @param options.deadline timeout for the server's response, in milliseconds.
 * @throws {StoreError} `doubtful` if it is unknown whether the commit succeeded.
 */
export async function commit(
  client: pg.ClientBase,
  { before = [], deadline }: { before?: readonly string[]; deadline?: number } = {},
): Promise<void> {
  try {
    await client.query(withQueryTimeout([...before, "COMMIT"].join("; "), deadline));
  } catch (error) {
    // An error code means that PostgreSQL rejected the commit, except for connection errors (08)
    // and server shutdowns (57P). In those two cases, and without a code, the outcome is unknown.
    const { code = "", message } = error as Error & { code?: string };
    const isRefused = /^(?!57P|08)[0-9A-Z]{5}$/.test(code);
    throw isRefused ? error : new StoreError("doubtful", message);
  }
}

/** Maximum number of writes per transaction. The first write's result has to wait for the last write. */
const MAX_BATCH = 100;

/** Maximum number of waiting writes per world. Leaves room for a crowd that logs in simultaneously. */
const MAX_WAITING = 20_000;

/**
 * Runs writes. A world's writes run one at a time, in order of arrival; waiting writes are batched
 * into one transaction. A batch may hold a connection for a long time while it waits for its
 * world's lock, so only a few batches run concurrently.
 */
export class WriteQueues {
  readonly #run: (world: string, batch: readonly Job[]) => Promise<void>;
  readonly #lanes = new Map<string, Job[]>();
  /** Batches that need {@link LOCK_OF_WORLDS} queue here, so that only one of them holds a connection. */
  readonly #inTurn = pLimit(1);

  /** Batches queue here for the connections available to writes. */
  readonly #turns: ReturnType<typeof pLimit>;

  /**
   * @param width the maximum number of concurrent batches.
   * @param run resolves or rejects each job. Must not throw.
   */
  constructor(width: number, run: (world: string, batch: readonly Job[]) => Promise<void>) {
    this.#turns = pLimit(width);
    this.#run = run;
  }

  /** @throws {StoreError} `busy` if too many writes to this world are waiting. */
  add(world: string, job: Job): void {
    const lane = this.#lanes.get(world);
    if (lane && lane.length >= MAX_WAITING) {
      throw new StoreError("busy", "Too many writes of this world wait.");
    }
    if (lane) return void lane.push(job);
    const started = [job];
    this.#lanes.set(world, started);
    detach(this.#drive(world, started));
  }

  /** Runs a world's jobs until the world's queue is empty. */
  async #drive(world: string, lane: Job[]): Promise<void> {
    while (lane.length > 0) {
      // Jobs that arrive before the batch starts join it.
      const run = () => this.#turns(() => this.#run(world, nextOf(lane, MAX_BATCH)));
      await (lane[0]!.all ? this.#inTurn(run) : run());
    }
    this.#lanes.delete(world);
  }
}

/** Removes the next transaction's jobs from the queue. A job with `all` is alone in its transaction. */
function nextOf(lane: Job[], most: number): Job[] {
  const end = lane.findIndex(({ all }) => all);
  const count = end < 0 ? lane.length : Math.max(1, end);
  return lane.splice(0, Math.min(count, most));
}
