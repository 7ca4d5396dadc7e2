import {
  parentPort,
  receiveMessageOnPort,
  workerData,
} from "node:worker_threads";
import { StoreError } from "../../contract/store.js";
import { type Batch, batches, failureOf } from "./batches.js";
import { memberWrites } from "../chat/chat-members.js";
import { messageWrites } from "../chat/chat-messages.js";
import { chatErasures } from "../chat/chat-remains.js";
import { openForWriting } from "./database.js";
import { ownWrites } from "./own-writes.js";
import { domainWrites, sqlOn } from "./sql.js";
import { Erasing } from "../erasure/erasing.js";
import { logPruning } from "../log/log-pruning.js";
import { toSent, WriteLog } from "../log/log-writes.js";
import { roomWrites } from "../rooms/room-writes.js";
import { rewriteTable } from "../erasure/scrub.js";
import { userWrites } from "../users/user-writes.js";
import { copyWrites } from "../copies/world-copies.js";
import { worldWrites } from "../worlds/world-writes.js";
import type {
  WriteAnswer,
  WriteCall,
  Message,
  BatchReport,
  ThreadData,
  Writes,
} from "./write-calls.js";

// The only thread of this process that writes. All writes that arrive while the disk
// is syncing go into the next transaction together and share one sync.

/** The most writes in one transaction. The first waits for the last. */
const MAX_BATCH = 500;

const NOTHING: Batch = { answers: [], hints: [] };

const port = parentPort!;
const { dataDir, author, audits, lockTimeout } = workerData as ThreadData;
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
const attempt = batches(db, writes, log);

/** Whether writes are under way. */
let isWriting = false;

port.on("message", (received: Message) => {
  // A transaction would otherwise include what does not belong to it. It ends with this thread.
  if (isWriting) throw new Error("A write waits for more than the database.");
  isWriting = true;
  take(received).catch((error: unknown) => {
    // Ends the thread.
    process.nextTick(() => {
      throw error;
    });
  });
});

/** Runs the writes of a message, and of those that have arrived since. Only microtasks pass. */
async function take(received: Message): Promise<void> {
  const calls: WriteCall[] = [];
  let message: Message | undefined = received;
  while (message && message !== "close") {
    calls.push(...message);
    message = calls.length < MAX_BATCH ? next() : undefined;
  }
  const users = calls.filter((call) => call[1] === "eraseUser");
  const others = calls.filter((call) => call[1] !== "eraseUser");
  const written = await commit(others);
  const erased = await erase(users);
  const answers = written.answers.concat(erased.answers);
  const hints = written.hints.concat(erased.hints).map(toSent);
  erasing.after(calls, answers);
  port.postMessage({ answers, hints } satisfies BatchReport);
  isWriting = false;
  if (message !== "close") return;
  erasing.close();
  db.close();
  port.close();
}

erasing.start();
// Reports that the thread has started.
port.postMessage({ answers: [], hints: [] } satisfies BatchReport);

/** The next message that has arrived; undefined if there is none. */
function next(): Message | undefined {
  const received = receiveMessageOnPort(port) as { message: Message } | null;
  return received?.message;
}

/**
 * Erases users and all their bytes in the same transaction. When the answer is sent,
 * they are gone from the database file, and from its log as soon as it has no readers.
 */
async function erase(users: WriteCall[]): Promise<Batch> {
  // Switching foreign keys makes SQLite prepare every statement again.
  if (users.length === 0) return NOTHING;
  db.pragma("foreign_keys = OFF");
  try {
    return await commit(users, (answers) => {
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
async function commit(
  batch: WriteCall[],
  finish?: (answers: WriteAnswer[]) => void,
): Promise<Batch> {
  if (batch.length === 0) return NOTHING;
  try {
    erasing.before(batch);
    return await attempt(batch, finish);
  } catch (error) {
    const failure = failureOf(asDoubtful(error) ?? error);
    return {
      answers: batch.map(([id]) => [id, undefined, failure]),
      hints: [],
    };
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
