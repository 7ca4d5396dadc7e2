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

/**
 * Runs several writes in one transaction, so that each succeeds or fails alone.
 * @returns a function that runs a batch. Its second argument runs at the end of
 *   the transaction.
 */
export function batches(db: Connection, writes: Writes, log: WriteLog) {
  const byName = writes as Record<string, (...args: unknown[]) => unknown>;
  const rowsChanged = db.prepare<[], number>("SELECT total_changes()").pluck();
  const savepoint = db.prepare("SAVEPOINT write");
  const release = db.prepare("RELEASE write");
  const rollBack = db.prepare("ROLLBACK TO write");

  /**
   * Runs one write without a savepoint.
   * @throws {HalfDone} if it failed and would have to be undone.
   */
  function attempt(call: WriteCall): WriteAnswer {
    const before = rowsChanged.get();
    try {
      return resultOf(call);
    } catch (error) {
      if (!db.inTransaction) throw error;
      if (rowsChanged.get() !== before) throw new HalfDone();
      return [call[0], undefined, failureOf(error)];
    }
  }

  /** Runs one write in a savepoint, so that it can be undone alone. */
  function attemptAlone(call: WriteCall): WriteAnswer {
    savepoint.run();
    try {
      const answer = resultOf(call);
      release.run();
      return answer;
    } catch (error) {
      // On an error of the disk, SQLite rolls back the whole transaction by itself.
      if (!db.inTransaction) throw error;
      rollBack.run();
      release.run();
      return [call[0], undefined, failureOf(error)];
    }
  }

  function resultOf(call: WriteCall): WriteAnswer {
    const [id, write, args, by] = call;
    return [id, log.during(by, () => byName[write]!(...args))];
  }

  const inTransaction = db.transaction(
    (
      batch: WriteCall[],
      how: (call: WriteCall) => WriteAnswer,
      finish?: (answers: WriteAnswer[]) => void,
    ): Batch => {
      log.begin();
      const answers = batch.map(how);
      finish?.(answers);
      return { answers, hints: log.finish() };
    },
  );

  return (
    batch: WriteCall[],
    finish?: (answers: WriteAnswer[]) => void,
  ): Batch => {
    // A savepoint for each write would add half the time, because SQLite saves
    // every page. A write that is refused has rarely changed anything.
    try {
      return inTransaction.immediate(batch, attempt, finish);
    } catch (error) {
      if (!(error instanceof HalfDone)) throw error;
      return inTransaction.immediate(batch, attemptAlone, finish);
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
