import type { Database as Connection } from "better-sqlite3";
import { StoreError } from "../../../contract/store.js";
import { nextTurn, processClock, startThread } from "../../../runtime.js";
import { logPruning } from "../log/log-reads.js";
import { eventAppending, type SentHint, WriteLog } from "../log/log-writes.js";
import { openForWriting, retryWhileBusy, storeErrorOf } from "./sqlite-database.js";
import { domainWrites, sqlOn } from "./sqlite-sql.js";
import {
  type BatchReport,
  type WriteFailure,
  type WriterMessage,
  toFault,
  type WriteAnswer,
  type WriteCall,
  type WriterThreadOptions,
  type Writes,
} from "./write-calls.js";

/**
 * Delay between a write's attempts to lock the database while another process holds the lock, in
 * milliseconds. SQLite's own handler sleeps for up to 100 ms, so it would miss the pauses between
 * the slices of long-running work.
 */
const LOCK_RETRY_MS = 2;

/** The outcomes of a transaction's writes, and the hints about its entries. */
interface Batch {
  answers: WriteAnswer[];
  hints: SentHint[];
}

/** Runs writes on its own connection, or on the shared connection to an in-memory database. */
export class WriteRunner {
  readonly #db: Connection;
  readonly #attempt: ReturnType<typeof batches>;
  readonly #log: WriteLog;

  /** @throws {StoreError} `unusable` if the database cannot be opened. */
  constructor({ dataDir, memory, author, audits, lockTimeout }: WriterThreadOptions) {
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

  /**
   * Runs writes. Only microtasks run until the promise resolves. Callers must wait for the promise
   * before the next call.
   */
  async run(calls: readonly WriteCall[]): Promise<BatchReport> {
    const batch = await this.#commit(calls);
    return { ...batch, erased: this.#log.hasErased };
  }

  close(): void {
    if (!this.#db.memory) this.#db.close();
  }

  /** Runs all calls in one transaction. Each call succeeds or fails independently, unless the commit fails. */
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
 * If the disk failed during a commit, returns the error to report; otherwise, returns undefined.
 * The write-ahead log may contain the whole transaction, which would then take effect after a crash
 * even though the commit failed.
 */
function asDoubtful(error: unknown): StoreError | undefined {
  const { code = "", message } = error as Error & { code?: string };
  return code.startsWith("SQLITE_IOERR") ? new StoreError("doubtful", message) : undefined;
}

/** Thrown when a write fails after changing something, so that its batch must be repeated. */
class PartialWriteError extends Error {}

/** The outcome of a write. Domain writes finish after a few microtasks, and all other writes synchronously. */
type Answering = WriteAnswer | Promise<WriteAnswer>;

/**
 * Creates a function that runs several writes in one transaction, so that each write succeeds or
 * fails independently.
 * @param lockTimeout how long a transaction waits for another process's lock, in milliseconds.
 * @returns a function that runs a batch. Only microtasks run until its promise resolves.
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

  /** @throws {StoreError} `busy` if another process holds the lock for too long. */
  const begin = () => retryWhileBusy(() => void beginNow.run(), lockTimeout, LOCK_RETRY_MS);

  /**
   * Runs one write without a savepoint.
   * @throws {PartialWriteError} if the write failed after changing something.
   */
  function attempt(call: WriteCall): Answering {
    const before = rowsChanged.get();
    return answerOf(call, (error) => {
      if (!db.inTransaction) throw error;
      if (rowsChanged.get() !== before) throw new PartialWriteError();
    });
  }

  /** Runs one write in a savepoint, so that it can be rolled back independently. */
  function attemptAlone(call: WriteCall): Answering {
    savepoint.run();
    return answerOf(
      call,
      (error) => {
        // After a disk error, SQLite itself has rolled back the whole transaction.
        if (!db.inTransaction) throw error;
        rollBack.run();
        release.run();
      },
      () => release.run(),
    );
  }

  /**
   * @param undo called if the write fails.
   * @param done called if the write succeeds.
   */
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
    // First try without savepoints. A savepoint for each write would take 50 % more time, because
    // SQLite saves every page that changes, and a rejected write has rarely changed anything.
    try {
      return await inTransaction(batch, attempt);
    } catch (error) {
      if (!(error instanceof PartialWriteError)) throw error;
      return inTransaction(batch, attemptAlone);
    }
  };
}

function failureOf(error: unknown): WriteFailure {
  const { problem, message, field } = storeErrorOf(error) ?? toFault(error);
  return { problem, message, ...(field !== undefined && { field }) };
}

/** Runs the writes of a {@link Writer}, in any thread. */
export interface Runner {
  /** Queues a message. @throws if the message cannot be cloned. */
  post(message: WriterMessage): void;
}

interface RunnerEvents {
  readonly onReport: (report: BatchReport) => void;
  /** Called when the runner has ended. @param reason the error message, if the runner failed. */
  readonly onEnd: (reason?: string) => void;
}

/** Starts a {@link Runner}. A simulation passes its own function. @throws {StoreError} `unusable`. */
export type StartRunner = (options: WriterThreadOptions, events: RunnerEvents) => Runner;

/** Runs writes in a separate thread, because writes wait for the disk. */
export function threadRunner(
  options: WriterThreadOptions,
  { onReport, onEnd }: RunnerEvents,
): Runner {
  const worker = startThread(new URL("./writer-thread.js", import.meta.url), options);
  let reason: string | undefined;
  worker.on("message", onReport);
  worker.on("error", ({ message }) => (reason = message));
  worker.on("exit", () => onEnd(reason));
  return { post: (message) => worker.postMessage(message) };
}

/**
 * Runs writes in the caller's thread, which avoids the cost of starting a thread. Used for
 * in-memory databases, and before a server listens, when nothing else needs the caller's thread.
 * @throws {StoreError} `unusable` if the database cannot be opened.
 */
export function ownRunner(options: WriterThreadOptions, { onReport, onEnd }: RunnerEvents): Runner {
  const runner = new WriteRunner(options);
  let last = Promise.resolve();
  const fail = ({ message }: Error) => onEnd(message);
  const take = async (message: WriterMessage) => {
    if (Array.isArray(message)) return onReport(await runner.run(message));
    runner.close();
    onEnd();
  };
  return {
    // Messages are handled sequentially, because each message is a transaction. Each transaction
    // starts in a new turn of the event loop, so that nothing else uses an in-memory database's
    // connection before the transaction ends.
    post: (message) => {
      last = last
        .then(() => nextTurn(processClock))
        .then(() => take(message))
        .catch(fail);
    },
  };
}
