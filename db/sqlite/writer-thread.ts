import {
  parentPort,
  receiveMessageOnPort,
  workerData,
} from "node:worker_threads";
import { StoreError } from "../store.js";
import { openForWriting, storeErrorOf } from "./database.js";
import { roomWrites } from "./room-writes.js";
import { emptyLog, rewriteUsers } from "./scrub.js";
import { userWrites } from "./user-writes.js";
import { copyWrites } from "./world-copies.js";
import { worldWrites } from "./world-writes.js";
import type { Answer, Call, Message, Writes } from "./writer.js";

// The only thread of this process that writes. Whatever arrived while the disk
// was syncing goes into the next transaction together: one sync for all of it.

/** After how many milliseconds it is tried again, when another process was in the way. */
const RETRY = 500;

/** More in one transaction would make the first wait for the last. */
const MAX_BATCH = 500;

const port = parentPort!;
const db = openForWriting((workerData as { dataDir: string }).dataDir);
const worlds = worldWrites(db);
const rooms = roomWrites(db);
const writes: Writes = {
  ...worlds,
  ...rooms,
  ...userWrites(db),
  ...copyWrites(db, worlds, rooms),
};
const byName = writes as Record<string, (...args: unknown[]) => unknown>;

const savepoint = db.prepare("SAVEPOINT write");
const release = db.prepare("RELEASE write");
const rollBack = db.prepare("ROLLBACK TO write");

/** Whether rows of users were deleted whose bytes may still be there. */
let stained = false;

port.on("message", (first: Message) => {
  const calls: Call[] = [];
  let message: Message | undefined = first;
  while (message && message !== "close") {
    calls.push(...message);
    message = calls.length < MAX_BATCH ? next() : undefined;
  }
  const erasures = calls.filter(({ write }) => write === "eraseUser");
  const others = calls.filter(({ write }) => write !== "eraseUser");
  const answers = commit(others);
  stained ||= others.some(({ write }) => write === "deleteWorld");
  if (erasures.length > 0 || stained) answers.push(...erase(erasures));
  port.postMessage(answers);
  if (message !== "close") return;
  db.close();
  port.close();
});

/** What else has arrived. */
function next(): Message | undefined {
  const received = receiveMessageOnPort(port) as { message: Message } | null;
  return received?.message;
}

/**
 * Erases users, and all bytes of them in the same transaction: what is answered
 * is gone from the database, and from its log as soon as nobody reads that.
 */
function erase(erasures: Call[]): Answer[] {
  db.pragma("foreign_keys = OFF");
  try {
    const answers = transact(erasures, (answers) => {
      if (stained || answers.some((answer) => "result" in answer)) {
        rewriteUsers(db);
      }
    });
    stained = false;
    return answers;
  } catch (error) {
    return refusals(erasures, error);
  } finally {
    db.pragma("foreign_keys = ON");
    cleanUp();
  }
}

let nextTry: NodeJS.Timeout | undefined;

/** Empties the log, and goes on with what could not be done as another process was in the way. */
function cleanUp(): void {
  clearTimeout(nextTry);
  if (!db.open) return;
  if (stained) nextTry = setTimeout(() => erase([]), RETRY);
  else if (!emptyLog(db)) nextTry = setTimeout(cleanUp, RETRY);
}

/** Does all calls in one transaction; each stands or falls alone, unless the commit falls. */
function commit(batch: Call[]): Answer[] {
  if (batch.length === 0) return [];
  try {
    return transact(batch);
  } catch (error) {
    return refusals(batch, error);
  }
}

function transact(
  batch: Call[],
  finish?: (answers: Answer[]) => void,
): Answer[] {
  return db
    .transaction(() => {
      const answers = batch.map(attempt);
      finish?.(answers);
      return answers;
    })
    .immediate();
}

function refusals(batch: Call[], error: unknown): Answer[] {
  const { problem, message } = storeErrorOf(error) ?? fault(error);
  return batch.map(({ id }) => ({ id, problem, message }));
}

function attempt({ id, write, args }: Call): Answer {
  savepoint.run();
  try {
    const result = byName[write]!(...args);
    release.run();
    return { id, result };
  } catch (error) {
    // SQLite gives up the whole transaction by itself when the disk fails it.
    if (!db.inTransaction) throw error;
    rollBack.run();
    release.run();
    const { problem, message, field } = storeErrorOf(error) ?? fault(error);
    return { id, problem, message, ...(field !== undefined && { field }) };
  }
}

/** A fault of our own: no word of it goes to a client, all of it to the log. */
function fault(error: unknown): Pick<StoreError, "message"> & {
  problem: "fault";
  field?: undefined;
} {
  const { stack, message } = error as Error;
  return { problem: "fault", message: stack ?? message };
}
