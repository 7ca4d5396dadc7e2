import type { StoreError } from "../store.js";
import { type Connection, storeErrorOf } from "./database.js";
import type { WriteAnswer, WriteCall, Writes } from "./writer.js";

/** A write failed after it had changed something. */
class HalfDone extends Error {}

/**
 * Does several writes in one transaction, so that each stands or falls alone.
 * @returns what does them, and with them whatever is to be finished first.
 */
export function batches(db: Connection, writes: Writes) {
  const byName = writes as Record<string, (...args: unknown[]) => unknown>;
  const rowsChanged = db.prepare<[], number>("SELECT total_changes()").pluck();
  const savepoint = db.prepare("SAVEPOINT write");
  const release = db.prepare("RELEASE write");
  const rollBack = db.prepare("ROLLBACK TO write");

  /**
   * Does one write, which cannot be undone.
   * @throws {HalfDone} when it would have to be.
   */
  function attempt(call: WriteCall): WriteAnswer {
    const before = rowsChanged.get();
    try {
      return resultOf(call);
    } catch (error) {
      if (!db.inTransaction) throw error;
      if (rowsChanged.get() !== before) throw new HalfDone();
      return failedAnswer(call, error);
    }
  }

  /** Does one write, or nothing of it. */
  function attemptAlone(call: WriteCall): WriteAnswer {
    savepoint.run();
    try {
      const answer = resultOf(call);
      release.run();
      return answer;
    } catch (error) {
      // SQLite gives up the whole transaction by itself when the disk fails it.
      if (!db.inTransaction) throw error;
      rollBack.run();
      release.run();
      return failedAnswer(call, error);
    }
  }

  function resultOf({ id, write, args }: WriteCall): WriteAnswer {
    return { id, result: byName[write]!(...args) };
  }

  const inTransaction = db.transaction(
    (
      batch: WriteCall[],
      how: (call: WriteCall) => WriteAnswer,
      finish?: (answers: WriteAnswer[]) => void,
    ) => {
      const answers = batch.map(how);
      finish?.(answers);
      return answers;
    },
  );

  return (
    batch: WriteCall[],
    finish?: (answers: WriteAnswer[]) => void,
  ): WriteAnswer[] => {
    // A savepoint for each would take half as long again, as SQLite keeps what
    // was on every page; and a write that is refused has rarely changed anything.
    try {
      return inTransaction.immediate(batch, attempt, finish);
    } catch (error) {
      if (!(error instanceof HalfDone)) throw error;
      return inTransaction.immediate(batch, attemptAlone, finish);
    }
  };
}

function failedAnswer({ id }: WriteCall, error: unknown): WriteAnswer {
  const { problem, message, field } = storeErrorOf(error) ?? toFault(error);
  return { id, problem, message, ...(field !== undefined && { field }) };
}

/** A fault of our own: no word of it goes to a client, all of it to the log. */
export function toFault(error: unknown): Pick<StoreError, "message"> & {
  problem: "fault";
  field?: undefined;
} {
  const { stack, message } = error as Error;
  return { problem: "fault", message: stack ?? message };
}
