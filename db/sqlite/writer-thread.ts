import {
  parentPort,
  receiveMessageOnPort,
  workerData,
} from "node:worker_threads";
import { StoreError } from "../store.js";
import { batches, fault } from "./batches.js";
import { changeWrites } from "./changes.js";
import { openForWriting, storeErrorOf } from "./database.js";
import { Erasures } from "./erasures.js";
import { roomWrites } from "./room-writes.js";
import {
  emptyLog,
  type ErasedTable,
  rewriteTable,
  withoutForeignKeys,
} from "./scrub.js";
import { userWrites } from "./user-writes.js";
import { copyWrites } from "./world-copies.js";
import { worldWrites } from "./world-writes.js";
import type {
  Answer,
  Call,
  Message,
  Report,
  ThreadData,
  Writes,
} from "./writer.js";

// The only thread of this process that writes. Whatever arrived while the disk
// was syncing goes into the next transaction together: one sync for all of it.

/** Writes after which the old bytes may not stay anywhere in the files of the database. */
const ERASING = new Set<keyof Writes>([
  "eraseUser",
  "deleteWorld",
  "deleteFile",
]);

/**
 * The table of files is scrubbed with each deletion for as long as that is quick,
 * in milliseconds. When it takes longer, deletions share the work: it is done
 * once after so many times its duration. With 100,000 files it takes half a
 * second, in which nothing else can be written.
 */
const QUICK = 25;
const PAUSE_FACTOR = 10;

/**
 * After how many milliseconds it is tried again, when another process was in
 * the way or the disk was full; it doubles.
 */
const RETRY = 500;
const LONGEST_RETRY = 60_000;

/** More in one transaction would make the first wait for the last. */
const MAX_BATCH = 500;

const port = parentPort!;
const { dataDir, origin, known, lockTimeout } = workerData as ThreadData;
const db = openForWriting(dataDir, undefined, lockTimeout);
const marks = new Erasures(dataDir);
const worlds = worldWrites(db);
const rooms = roomWrites(db);
const writes: Writes = {
  ...worlds,
  ...rooms,
  ...userWrites(db),
  ...copyWrites(db, worlds, rooms),
};
const attempt = batches(db, writes);
const noteChanges = changeWrites(db, origin, known);
/** The worlds in which the next report hides a change of another origin. */
let touched: string[] = [];

port.on("message", (first: Message) => {
  const calls: Call[] = [];
  let message: Message | undefined = first;
  while (message && message !== "close") {
    calls.push(...message);
    message = calls.length < MAX_BATCH ? next() : undefined;
  }
  const users = calls.filter(({ write }) => write === "eraseUser");
  const others = calls.filter(({ write }) => write !== "eraseUser");
  const answers = [...commit(others), ...erase(users)];
  const wrote = (name: keyof Writes) =>
    calls.some(({ write }) => write === name);
  if (wrote("deleteWorld")) due.add("users").add("files");
  if (wrote("deleteFile")) due.add("files");
  if (wrote("deleteWorld") || wrote("eraseUser")) scrub(RETRY);
  else if (wrote("deleteFile")) {
    if (lastRewrite < QUICK) scrub(RETRY);
    else retry ??= setTimeout(scrub, PAUSE_FACTOR * lastRewrite, RETRY);
  }
  port.postMessage({ answers, touched } satisfies Report);
  touched = [];
  if (message !== "close") return;
  // What cannot be scrubbed now is marked, and done by who opens it next.
  if (due.size > 0) scrub(RETRY);
  clearTimeout(retry);
  db.close();
  port.close();
});

/** The tables that are left to be scrubbed; then the log is, while there is a mark. */
const due = new Set<ErasedTable>();
let retry: NodeJS.Timeout | undefined;
/** How long it took to write the due tables anew the last time, in milliseconds. */
let lastRewrite = 0;

if (done(() => marks.adopt()) && marks.due) {
  due.add("users").add("files");
  scrub(RETRY);
}
// Says that it has begun.
port.postMessage({ answers: [], touched } satisfies Report);

/** What else has arrived. */
function next(): Message | undefined {
  const received = receiveMessageOnPort(port) as { message: Message } | null;
  return received?.message;
}

/**
 * Leaves nothing of what was erased in the files of the database.
 * @param pause after how many milliseconds it is tried again if it cannot be done.
 */
function scrub(pause: number): void {
  clearTimeout(retry);
  retry = undefined;
  if (due.size > 0 && done(rewrite)) due.clear();
  if (due.size === 0 && emptyLog(db) && done(() => marks.end())) return;
  retry = setTimeout(scrub, pause, Math.min(2 * pause, LONGEST_RETRY));
}

/** Whether something could be done that the writes before it do not depend on. */
function done(work: () => void): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

/**
 * Erases users, and all bytes of them in the same transaction: what is answered
 * is gone from the database, and from its log as soon as nobody reads that.
 */
function erase(users: Call[]): Answer[] {
  // To switch foreign keys makes SQLite prepare every statement anew.
  if (users.length === 0) return [];
  return withoutForeignKeys(db, () =>
    commit(users, (answers) => {
      if (answers.some((answer) => "result" in answer)) {
        rewriteTable(db, "users");
      }
    }),
  );
}

function rewrite(): void {
  const started = performance.now();
  const run = db.transaction(() => {
    for (const table of due) rewriteTable(db, table);
  });
  withoutForeignKeys(db, () => run.immediate());
  lastRewrite = performance.now() - started;
}

/**
 * Does all calls in one transaction; each stands or falls alone, unless the commit falls.
 * @param finish belongs to the transaction.
 */
function commit(batch: Call[], finish?: (answers: Answer[]) => void): Answer[] {
  if (batch.length === 0) return [];
  try {
    if (batch.some(({ write }) => ERASING.has(write))) marks.begin();
    return attempt(batch, (answers) => {
      finish?.(answers);
      const changes = batch.filter((_, i) => "result" in answers[i]!);
      touched.push(...noteChanges(changes));
    });
  } catch (error) {
    const { problem, message } =
      doubt(error) ?? storeErrorOf(error) ?? fault(error);
    return batch.map(({ id }) => ({ id, problem, message }));
  }
}

/**
 * A disk that fails in a commit may have taken all of it: what is in the log
 * then counts after a crash, although it does not now.
 */
function doubt(error: unknown): StoreError | undefined {
  const { code = "", message } = error as Error & { code?: string };
  return code.startsWith("SQLITE_IOERR")
    ? new StoreError("doubtful", message)
    : undefined;
}
