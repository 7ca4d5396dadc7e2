import type { Entry } from "../../log/entries.js";
import type { Hint } from "../../log/log.js";
import { storeErrorOf } from "./database.js";
import type { Connection } from "./connection.js";
import type { WriteLog } from "../log/log-writes.js";
import type { Failure, WriteAnswer, WriteCall, Writes } from "./write-calls.js";

/** The answers and the entries of a transaction. */
export interface Batch {
  answers: WriteAnswer[];
  hints: readonly Hint<Entry>[];
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
export function failureOf(error: unknown): Failure {
  const { problem, message, field } = storeErrorOf(error) ?? toFault(error);
  return { problem, message, ...(field !== undefined && { field }) };
}

/** A bug of Foyer. Its stack goes to the log, and nothing to the client. */
export function toFault(error: unknown): Failure & { field?: undefined } {
  const { stack, message } = error as Error;
  return { problem: "fault", message: stack ?? message };
}
