import type { Database as Connection } from "better-sqlite3";
import { StoreError } from "../../../contract/store.js";
import { nextTurn, processClock, startThread } from "../../../runtime.js";
import { logPruning } from "../log/log-reads.js";
import { eventAppending, type SentHint, WriteLog } from "../log/log-writes.js";
import { openForWriting, retryWhileBusy, storeErrorOf } from "./sqlite-database.js";
import { domainWrites, sqlOn } from "./sqlite-sql.js";
import {
  type BatchReport,
  type Failure,
  type Message,
  toFault,
  type WriteAnswer,
  type WriteCall,
  type WriteOptions,
  type Writes,
} from "./write-calls.js";

/**
 * How often a write asks for the lock of another process again, in milliseconds. SQLite's own
 * handler waits for up to 100 ms, so it misses the pauses between the slices of long work.
 */
const LOCK_RETRY_MS = 2;

/** The answers of a transaction, and the hints of its entries. */
interface Batch {
  answers: WriteAnswer[];
  hints: SentHint[];
}

/** Runs writes on its own connection, or on the shared one of an in-memory database. A process has at most one. */
export class WriteRunner {
  readonly #db: Connection;
  readonly #attempt: ReturnType<typeof batches>;
  readonly #log: WriteLog;

  /** @throws {StoreError} `unusable`. */
  constructor({ dataDir, memory, author, audits, lockTimeout }: WriteOptions) {
    const db = memory ?? openForWriting(dataDir, { upgrade: false, lockTimeout: 0 });
    const sql = sqlOn(db);
    const log = new WriteLog(db, { author, audits, hasFiles: !memory });
    const writes = {
      ...domainWrites(sql, log, eventAppending(db, log)),
      ...logPruning(db, log),
    } satisfies Writes;
    this.#db = db;
    this.#log = log;
    this.#attempt = batches(db, writes, log, lockTimeout);
  }

  /** Runs writes. Only microtasks pass. They must be over before others may begin. */
  async run(calls: readonly WriteCall[]): Promise<BatchReport> {
    const batch = await this.#commit(calls);
    return { ...batch, erased: this.#log.hasErased };
  }

  close(): void {
    if (!this.#db.memory) this.#db.close();
  }

  /** Runs all calls in one transaction. Each succeeds or fails alone, unless the commit fails. */
  async #commit(batch: readonly WriteCall[]): Promise<Batch> {
    try {
      return await this.#attempt(batch);
    } catch (error) {
      const failure = failureOf(asDoubtful(error) ?? error);
      return { answers: batch.map(([id]) => [id, undefined, failure]), hints: [] };
    }
  }
}

/**
 * The error for a disk that failed during a commit. The log may have the whole
 * transaction, which then takes effect after a crash although it has none now.
 */
function asDoubtful(error: unknown): StoreError | undefined {
  const { code = "", message } = error as Error & { code?: string };
  return code.startsWith("SQLITE_IOERR") ? new StoreError("doubtful", message) : undefined;
}

/** A write failed after it had changed something, so its batch must be repeated. */
class HalfDone extends Error {}

/** The answer to a write. A write of a domain answers after some microtasks, and others at once. */
type Answering = WriteAnswer | Promise<WriteAnswer>;

/**
 * Runs several writes in one transaction, so that each succeeds or fails alone.
 * @param lockTimeout how long a transaction waits for another process, in milliseconds.
 * @returns a function that runs a batch. Only microtasks pass until its promise resolves.
 */
export function batches(db: Connection, writes: Writes, log: WriteLog, lockTimeout: number) {
  const byName = writes as Record<string, (...args: unknown[]) => unknown>;
  const rowsChanged = db.prepare<[], number>("SELECT total_changes()").pluck();
  const beginNow = db.prepare("BEGIN IMMEDIATE");
  const commit = db.prepare("COMMIT");
  const rollBackAll = db.prepare("ROLLBACK");
  const savepoint = db.prepare("SAVEPOINT write");
  const release = db.prepare("RELEASE write");
  const rollBack = db.prepare("ROLLBACK TO write");

  /** @throws {StoreError} `busy` if another process keeps the lock for too long. */
  const begin = () => retryWhileBusy(() => void beginNow.run(), lockTimeout, LOCK_RETRY_MS);

  /**
   * Runs one write without a savepoint.
   * @throws {HalfDone} if it failed and would have to be undone.
   */
  function attempt(call: WriteCall): Answering {
    const before = rowsChanged.get();
    return answerOf(call, (error) => {
      if (!db.inTransaction) throw error;
      if (rowsChanged.get() !== before) throw new HalfDone();
    });
  }

  /** Runs one write in a savepoint, so that it can be undone alone. */
  function attemptAlone(call: WriteCall): Answering {
    savepoint.run();
    return answerOf(
      call,
      (error) => {
        // On an error of the disk, SQLite rolls back the whole transaction by itself.
        if (!db.inTransaction) throw error;
        rollBack.run();
        release.run();
      },
      () => release.run(),
    );
  }

  /** @param undo runs if the write has failed, and @param done if it has not. */
  function answerOf(
    call: WriteCall,
    undo: (error: unknown) => void,
    done: () => void = () => {},
  ): Answering {
    const [id, write, args, by] = call;
    const failed = (error: unknown): WriteAnswer => {
      undo(error);
      return [id, undefined, failureOf(error)];
    };
    const succeeded = (result: unknown): WriteAnswer => {
      done();
      return [id, result];
    };
    try {
      const result = log.during(by, () => byName[write]!(...args));
      return result instanceof Promise ? result.then(succeeded).catch(failed) : succeeded(result);
    } catch (error) {
      return failed(error);
    }
  }

  async function inTransaction(
    batch: readonly WriteCall[],
    how: (call: WriteCall) => Answering,
  ): Promise<Batch> {
    begin();
    try {
      log.begin();
      const answers: WriteAnswer[] = [];
      for (const call of batch) {
        const answer = how(call);
        answers.push(answer instanceof Promise ? await answer : answer);
      }
      const hints = log.finish();
      commit.run();
      return { answers, hints };
    } catch (error) {
      if (db.inTransaction) rollBackAll.run();
      throw error;
    }
  }

  return async (batch: readonly WriteCall[]): Promise<Batch> => {
    // A savepoint for each write would add half the time, because SQLite saves
    // every page. A write that is refused has rarely changed anything.
    try {
      return await inTransaction(batch, attempt);
    } catch (error) {
      if (!(error instanceof HalfDone)) throw error;
      return inTransaction(batch, attemptAlone);
    }
  };
}

function failureOf(error: unknown): Failure {
  const { problem, message, field } = storeErrorOf(error) ?? toFault(error);
  return { problem, message, ...(field !== undefined && { field }) };
}

/** What runs the writes of a {@link Writer}. */
export interface Runner {
  /** Takes a message. @throws if it cannot be copied. */
  post(message: Message): void;
}

interface RunnerEvents {
  readonly onReport: (report: BatchReport) => void;
  /** The runner has ended. @param reason why, if it failed. */
  readonly onEnd: (reason?: string) => void;
}

/** Starts a {@link Runner}. A simulation passes its own. @throws {StoreError} `unusable`. */
export type StartRunner = (options: WriteOptions, events: RunnerEvents) => Runner;

/** Runs writes in a thread of their own, as they wait for the disk. */
export function threadRunner(options: WriteOptions, { onReport, onEnd }: RunnerEvents): Runner {
  const worker = startThread(new URL("./writer-thread.js", import.meta.url), options);
  let reason: string | undefined;
  worker.on("message", onReport);
  worker.on("error", ({ message }) => (reason = message));
  worker.on("exit", () => onEnd(reason));
  return { post: (message) => worker.postMessage(message) };
}

/**
 * Runs writes in the thread of the caller. A thread costs a start, and nothing waits for this one
 * before a server listens.
 * @throws {StoreError} `unusable`.
 */
export function ownRunner(options: WriteOptions, { onReport, onEnd }: RunnerEvents): Runner {
  const runner = new WriteRunner(options);
  let last = Promise.resolve();
  const fail = ({ message }: Error) => onEnd(message);
  const take = async (message: Message) => {
    if (Array.isArray(message)) return onReport(await runner.run(message));
    runner.close();
    onEnd();
  };
  return {
    // One after the other, as each is a transaction. Each begins with a turn of the event loop, so
    // that nothing else uses the connection of a database in memory before it ends.
    post: (message) => {
      last = last
        .then(() => nextTurn(processClock))
        .then(() => take(message))
        .catch(fail);
    },
  };
}
