import { StoreError } from "../../contract/store.js";
import { memberWrites } from "../chat/chat-members.js";
import { messageWrites } from "../chat/chat-messages.js";
import { chatErasures } from "../chat/chat-remains.js";
import { copyWrites } from "../copies/world-copies.js";
import { Erasing } from "../erasure/erasing.js";
import { rewriteTable } from "../erasure/scrub.js";
import { logPruning } from "../log/log-pruning.js";
import { type SentHint, WriteLog } from "../log/log-writes.js";
import { roomWrites } from "../rooms/room-writes.js";
import { userWrites } from "../users/user-writes.js";
import { worldWrites } from "../worlds/world-writes.js";
import type { Connection } from "./connection.js";
import { openForWriting, storeErrorOf } from "./database.js";
import { ownWrites } from "./own-writes.js";
import { domainWrites, sqlOn } from "./sql.js";
import {
  type BatchReport,
  type Failure,
  toFault,
  type WriteAnswer,
  type WriteCall,
  type WriteOptions,
  type Writes,
} from "./write-calls.js";

/** The answers of a transaction, and the hints of its entries. */
interface Batch {
  answers: WriteAnswer[];
  hints: SentHint[];
}

const NOTHING: Batch = { answers: [], hints: [] };

/**
 * Runs writes on a connection of its own, and erases what they leave in the files. A process has
 * one at a time.
 */
export class WriteRunner {
  readonly #db: Connection;
  readonly #erasing: Erasing;
  readonly #attempt: ReturnType<typeof batches>;
  readonly #takesOver: boolean;

  /**
   * @param takesOver whether it also finishes the erasures that other processes left, which may
   *   take seconds.
   * @throws {StoreError} `unusable`.
   */
  constructor(
    { dataDir, author, audits, lockTimeout }: WriteOptions,
    takesOver = true,
  ) {
    const db = openForWriting(dataDir, { upgrade: false, lockTimeout });
    const sql = sqlOn(db);
    const erasesLog = () => erasing.erasesLog();
    const log = new WriteLog(db, {
      author,
      audits,
      erases: erasesLog,
      erased: (tables) => erasing.erases(tables),
    });
    const erasures = chatErasures(db, log);
    const erasing = new Erasing(db, dataDir, (limit) =>
      erasures.eraseRemains(limit),
    );
    const erasesQuestions = () => erasing.erases(["questions"]);
    const worlds = worldWrites(db, sql, log);
    const rooms = roomWrites(db, sql, log, erasesQuestions);
    const users = userWrites(db, sql, log);
    const writes = {
      ...worlds,
      ...rooms,
      ...users,
      ...domainWrites(sql, log, ownWrites(db, log, users, worlds)),
      ...messageWrites(db, log),
      ...memberWrites(db, log),
      ...erasures,
      ...logPruning(db, erasesLog),
      ...copyWrites(sql, log, { ...worlds, ...rooms }),
    } satisfies Writes;
    this.#db = db;
    this.#erasing = erasing;
    this.#attempt = batches(db, writes, log);
    this.#takesOver = takesOver;
    if (takesOver) erasing.start();
  }

  /** Whether nothing is left to do, now or later, but what other processes may leave. */
  get isAtRest(): boolean {
    return this.#erasing.isAtRest;
  }

  /** Runs writes. Only microtasks pass. They must be over before others may begin. */
  async run(calls: readonly WriteCall[]): Promise<BatchReport> {
    const users = calls.filter((call) => call[1] === "eraseUser");
    const others = calls.filter((call) => call[1] !== "eraseUser");
    const written = await this.#commit(others);
    const erased = await this.#erase(users);
    const answers = written.answers.concat(erased.answers);
    const hints = written.hints.concat(erased.hints);
    this.#erasing.after(calls, answers);
    return { answers, hints };
  }

  /** Ends. What takes over also erases as much as it can. */
  close(): void {
    this.#erasing.close(this.#takesOver);
    this.#db.close();
  }

  /**
   * Erases users and all their bytes in the same transaction. When the answer is sent,
   * they are gone from the database file, and from its log as soon as it has no readers.
   */
  async #erase(users: WriteCall[]): Promise<Batch> {
    const db = this.#db;
    // Switching foreign keys makes SQLite prepare every statement again.
    if (users.length === 0) return NOTHING;
    db.pragma("foreign_keys = OFF");
    try {
      return await this.#commit(users, (answers) => {
        if (answers.some((answer) => !answer[2])) {
          rewriteTable(db, "users");
          rewriteTable(db, "blocks");
        }
      });
    } finally {
      db.pragma("foreign_keys = ON");
    }
  }

  /**
   * Runs all calls in one transaction. Each succeeds or fails alone, unless the commit
   * fails.
   * @param finish runs at the end of the transaction.
   */
  async #commit(
    batch: WriteCall[],
    finish?: (answers: WriteAnswer[]) => void,
  ): Promise<Batch> {
    if (batch.length === 0) return NOTHING;
    try {
      this.#erasing.before(batch);
      return await this.#attempt(batch, finish);
    } catch (error) {
      const failure = failureOf(asDoubtful(error) ?? error);
      return {
        answers: batch.map(([id]) => [id, undefined, failure]),
        hints: [],
      };
    }
  }
}

/**
 * The error for a disk that failed during a commit. The log may have the whole
 * transaction, which then takes effect after a crash although it has none now.
 */
function asDoubtful(error: unknown): StoreError | undefined {
  const { code = "", message } = error as Error & { code?: string };
  return code.startsWith("SQLITE_IOERR")
    ? new StoreError("doubtful", message)
    : undefined;
}

/** A write failed after it had changed something, so its batch must be repeated. */
class HalfDone extends Error {}

/** The answer to a write. A write of a domain answers after some microtasks, and others at once. */
type Answering = WriteAnswer | Promise<WriteAnswer>;

/**
 * Runs several writes in one transaction, so that each succeeds or fails alone.
 * @returns a function that runs a batch. Its second argument runs at the end of
 *   the transaction. Only microtasks pass until its promise resolves.
 */
export function batches(db: Connection, writes: Writes, log: WriteLog) {
  const byName = writes as Record<string, (...args: unknown[]) => unknown>;
  const rowsChanged = db.prepare<[], number>("SELECT total_changes()").pluck();
  const begin = db.prepare("BEGIN IMMEDIATE");
  const commit = db.prepare("COMMIT");
  const rollBackAll = db.prepare("ROLLBACK");
  const savepoint = db.prepare("SAVEPOINT write");
  const release = db.prepare("RELEASE write");
  const rollBack = db.prepare("ROLLBACK TO write");

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
      return result instanceof Promise
        ? result.then(succeeded).catch(failed)
        : succeeded(result);
    } catch (error) {
      return failed(error);
    }
  }

  async function inTransaction(
    batch: WriteCall[],
    how: (call: WriteCall) => Answering,
    finish?: (answers: WriteAnswer[]) => void,
  ): Promise<Batch> {
    begin.run();
    try {
      log.begin();
      const answers: WriteAnswer[] = [];
      for (const call of batch) {
        const answer = how(call);
        answers.push(answer instanceof Promise ? await answer : answer);
      }
      finish?.(answers);
      const hints = log.finish();
      commit.run();
      return { answers, hints };
    } catch (error) {
      if (db.inTransaction) rollBackAll.run();
      throw error;
    }
  }

  return async (
    batch: WriteCall[],
    finish?: (answers: WriteAnswer[]) => void,
  ): Promise<Batch> => {
    // A savepoint for each write would add half the time, because SQLite saves
    // every page. A write that is refused has rarely changed anything.
    try {
      return await inTransaction(batch, attempt, finish);
    } catch (error) {
      if (!(error instanceof HalfDone)) throw error;
      return inTransaction(batch, attemptAlone, finish);
    }
  };
}

/** The form of an error for the caller of a write. */
function failureOf(error: unknown): Failure {
  const { problem, message, field } = storeErrorOf(error) ?? toFault(error);
  return { problem, message, ...(field !== undefined && { field }) };
}
