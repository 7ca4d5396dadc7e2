import pLimit from "p-limit";
import type pg from "pg";
import type { Author } from "../../../contract/author.js";
import { StoreError } from "../../../contract/store.js";
import type { Sql } from "../../../domains/domain.js";
import { Draft } from "../../../log/draft.js";
import { type Entry, type Hint, INDEX } from "../../../log/entries.js";
import { detach } from "../../../runtime.js";
import {
  eraseData,
  headOf,
  LOCKED_INDEX,
  Log,
  Noted,
  notingErasures,
  positionIn,
  storing,
  type Writer,
} from "../log/postgres-log.js";
import { limited, storeErrorOf } from "./pg-client.js";
import { DEADLINES } from "./pool.js";
import { LOCK_OF_WORLDS, lockOfWorld, sqlOn } from "./postgres-sql.js";

export interface Job {
  readonly run: (sql: Sql, log: Log) => Promise<unknown>;
  /** The author; undefined for the author of the store. */
  readonly by: Writer;
  /** Whether writes of all worlds have to wait for it. Then it runs alone. */
  readonly all: boolean;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A transaction that was committed, or in which everything failed. */
export interface Done {
  readonly hints: readonly Hint<Entry>[];
  /** Gives each job its answer. */
  readonly settle: () => void;
}

/** A statement that changes nothing. Any other may, such as a SAVEPOINT. */
const READS = /^\s*(?:SELECT|WITH)\b(?![^]*\b(?:INSERT|UPDATE|DELETE|MERGE)\b)/;

/** Whether each statement may change something. There are few texts, as for preparing them. */
const changing = new Map<string, boolean>();

function mayChange(text: string): boolean {
  let known = changing.get(text);
  if (known === undefined) changing.set(text, (known = !READS.test(text)));
  return known;
}

/** What all writes of a store have in common. */
export interface WriteOptions {
  /** The author of jobs without one. */
  readonly author: Author;
  readonly audits: boolean;
}

/**
 * Runs some writes of a world in one transaction, each of which succeeds or fails alone.
 * @param noted gets the notes of the jobs, also if the commit is doubtful.
 * @throws {StoreError} `doubtful` if the connection was lost during the commit, and errors
 *   of pg: then none of the jobs has an answer.
 */
export async function transact(
  client: pg.ClientBase,
  world: string,
  jobs: readonly Job[],
  writing: WriteOptions,
  noted: Noted,
): Promise<Done> {
  const parts = { client, world, jobs, writing, noted };
  // A savepoint takes a round trip, and few writes fail after they have changed something.
  return (await attempt(parts, false)) ?? (await attempt(parts, true))!;
}

interface Parts {
  readonly client: pg.ClientBase;
  readonly world: string;
  readonly jobs: readonly Job[];
  readonly writing: WriteOptions;
  readonly noted: Noted;
}

/**
 * @param isSafe whether each of several jobs has a savepoint.
 * @returns undefined if a job without one has failed so that all have to run again.
 */
async function attempt(
  { client, world, jobs, writing, noted }: Parts,
  isSafe: boolean,
): Promise<Done | undefined> {
  /** Whether the present job may have changed something, or ended the transaction. */
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
  const draft = new Draft((one) => heads.get(one)!, undefined, writing.audits);
  const notes = new Noted();
  for (const job of jobs) {
    const { resolve, reject } = job;
    // A failed statement ends the whole transaction, unless there is a savepoint.
    if (isSafe) await client.query("SAVEPOINT job");
    isTouched = false;
    const mark = draft.mark();
    const own = new Noted();
    try {
      const log = new Log({ draft, world, noted: own }, job.by, writing.author);
      const result = await job.run(sql, log);
      notes.add(own);
      answers.push(() => resolve(result));
    } catch (error) {
      const fault = storeErrorOf(error);
      // With the connection, all is lost.
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

/** Begins, and waits for the lock of a world. @returns its last entry. */
async function begin(client: pg.ClientBase, world: string, all: boolean) {
  const locks = [...(all ? [LOCK_OF_WORLDS] : []), lockOfWorld(world)];
  // Each statement sees all earlier commits, also after the wait for the lock.
  const begin = "BEGIN ISOLATION LEVEL READ COMMITTED";
  const results = (await client.query(
    limited([begin, ...locks, headOf(world)].join("; "), DEADLINES.locks(locks.length)),
  )) as unknown as pg.QueryResult<Record<"seq" | "tag", unknown>>[];
  return positionIn(results.at(-1)!.rows[0]);
}

/**
 * Commits.
 * @param options.before statements that run just before.
 * @param options.deadline how long the answer may take, in milliseconds.
 * @throws {StoreError} `doubtful` if it is unknown whether it is committed.
 */
export async function commit(
  client: pg.ClientBase,
  { before = [], deadline }: { before?: readonly string[]; deadline?: number } = {},
): Promise<void> {
  try {
    await client.query(limited([...before, "COMMIT"].join("; "), deadline));
  } catch (error) {
    // PostgreSQL refuses a commit with a code. Without one, its answer is unknown.
    const { code = "", message } = error as Error & { code?: string };
    const isRefused = /^(?!57P|08)[0-9A-Z]{5}$/.test(code);
    throw isRefused ? error : new StoreError("doubtful", message);
  }
}

/** The most writes in one transaction. The first waits for the last. */
const MAX_BATCH = 100;

/** The most writes of one world that wait. A crowd that logs in at once fits. */
const MAX_WAITING = 20_000;

/**
 * Runs writes. Writes of one world run one after another, in the order of arrival. Waiting
 * writes gather in one batch. A batch may wait long for the lock of its world, with a
 * connection, so there are only a few at once.
 */
export class Lanes {
  readonly #run: (world: string, batch: readonly Job[]) => Promise<void>;
  readonly #lanes = new Map<string, Job[]>();
  /** Writes that want the lock of all worlds wait here, and not each with a connection. */
  readonly #inTurn = pLimit(1);

  /** Batches wait here for the connections that writes may have. */
  readonly #turns: ReturnType<typeof pLimit>;

  /**
   * @param width how many batches run at once.
   * @param run gives each job its answer. It must not throw.
   */
  constructor(width: number, run: (world: string, batch: readonly Job[]) => Promise<void>) {
    this.#turns = pLimit(width);
    this.#run = run;
  }

  /** @throws {StoreError} `busy` if too many writes of this world wait. */
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

  /** Runs the jobs of a world until none waits. */
  async #drive(world: string, lane: Job[]): Promise<void> {
    while (lane.length > 0) {
      // Jobs that come while this waits for its turn join the batch.
      const run = () => this.#turns(() => this.#run(world, nextOf(lane, MAX_BATCH)));
      await (lane[0]!.all ? this.#inTurn(run) : run());
    }
    this.#lanes.delete(world);
  }
}

/** Takes the jobs of one transaction: a job for all worlds alone, or some before the next one. */
function nextOf(lane: Job[], most: number): Job[] {
  const end = lane.findIndex(({ all }) => all);
  const count = end < 0 ? lane.length : Math.max(1, end);
  return lane.splice(0, Math.min(count, most));
}
