import {
  parentPort,
  receiveMessageOnPort,
  workerData,
} from "node:worker_threads";
import { StoreError } from "../store.js";
import { announcementWrites } from "./announcements.js";
import { batches, toFault } from "./batches.js";
import { ChatChores } from "./chat-chores.js";
import { chatCopyWrites } from "./chat-import.js";
import { memberWrites } from "./chat-members.js";
import { messageWrites } from "./chat-messages.js";
import { chatErasures } from "./chat-remains.js";
import { changeWrites } from "./changes.js";
import { openForWriting, storeErrorOf } from "./database.js";
import { ErasureMarks } from "./erasure-marks.js";
import { fileWrites } from "./file-writes.js";
import { pollWrites } from "./poll-writes.js";
import { questionWrites } from "./question-writes.js";
import { roomWrites } from "./room-writes.js";
import {
  emptyLog,
  ERASED_TABLES,
  type ErasedTable,
  rewriteTable,
  withoutForeignKeys,
} from "./scrub.js";
import { userWrites } from "./user-writes.js";
import { copyWrites } from "./world-export-import.js";
import { worldWrites } from "./world-writes.js";
import type {
  WriteAnswer,
  WriteCall,
  Message,
  BatchReport,
  ThreadData,
  Writes,
} from "./writer.js";

// The only thread of this process that writes. All writes that arrive while the disk
// is syncing go into the next transaction together and share one sync.

/** Writes whose old bytes must not stay anywhere in the files of the database. */
const ERASING = new Set<keyof Writes>([
  "eraseUser",
  "deleteWorld",
  "deleteFile",
  "editMessage",
  "deleteMessage",
  "emptyMessages",
  "expireEvents",
]);

/**
 * Writes whose old bytes leave the log soon, together with those of others, and not
 * before their answers. There may be many of them. But a deleted message leaves it
 * before the answer.
 */
const ERASING_SOON = new Set<keyof Writes>([
  "editMessage",
  "deleteMessage",
  "emptyMessages",
  "expireEvents",
]);

/** Writes that delete channels and leave their events. */
const LEAVING = new Set<keyof Writes>([
  "eraseUser",
  "deleteWorld",
  "deleteRoom",
]);

/** How soon, in milliseconds. */
const SOON = 1000;

/**
 * While scrubbing the table of files or of questions takes less than this, in
 * milliseconds, every deletion scrubs it. When it takes longer, it runs once for many
 * deletions, after a pause of this many times its duration. With 100,000 files it takes
 * half a second, in which nothing else can be written.
 */
const QUICK_SCRUB = 100;
const PAUSE_FACTOR = 10;

/**
 * The pause before a scrub is tried again, in milliseconds. Another process may have
 * held the log, or the disk may have been full. The pause doubles each time.
 */
const FIRST_RETRY = 100;
const LONGEST_RETRY = 60_000;

/**
 * How long an erasure waits for the other threads of this process, which read for
 * one turn of the event loop or for one search, in milliseconds.
 */
const PATIENCE = 2000;

/** How often it is looked whether another process died before it had finished an erasure, in milliseconds. */
const PATROL = 60_000;

/** How long a thread that ends erases what deleted channels left, in milliseconds. */
const LAST_CHORES = 2000;

/** The most writes in one transaction. The first waits for the last. */
const MAX_BATCH = 500;

const port = parentPort!;
const { dataDir, origin, known, lockTimeout } = workerData as ThreadData;
const db = openForWriting(dataDir, undefined, lockTimeout);
const marks = new ErasureMarks(dataDir);
const worlds = worldWrites(db);
const rooms = roomWrites(db, erasesQuestions);
const users = userWrites(db);
const announcements = announcementWrites(db);
const erasures = chatErasures(db);
const writes: Writes = {
  ...worlds,
  ...rooms,
  ...users,
  ...announcements,
  ...fileWrites(db, users),
  ...messageWrites(db),
  ...memberWrites(db),
  ...erasures,
  ...questionWrites(db, erasesQuestions),
  ...pollWrites(db),
  ...copyWrites(db, {
    ...{ ...worlds, ...rooms, ...users, ...announcements },
    ...chatCopyWrites(db),
  }),
};
const attempt = batches(db, writes);
const noteChanges = changeWrites(db, origin, known);
/** Whether the present writes delete or replace the content of questions. */
let erasedQuestions = false;
/** The worlds where a transaction overwrote the record of another origin's change. */
let touched: string[] = [];

port.on("message", (first: Message) => {
  const calls: WriteCall[] = [];
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
  if (wrote("deleteWorld")) ERASED_TABLES.forEach((table) => due.add(table));
  if (wrote("deleteFile")) due.add("files");
  if (erasedQuestions) due.add("questions");
  const erased = wrote("deleteFile") || erasedQuestions;
  erasedQuestions = false;
  if (wrote("deleteWorld") || wrote("eraseUser")) scrub();
  else if (erased && lastRewrite < QUICK_SCRUB) scrub();
  else if (erased) retry ??= setTimeout(scrub, PAUSE_FACTOR * lastRewrite);
  // Anybody may ask to delete what is not theirs, and emptying the log costs a sync.
  if (deleted(calls, answers)) scrubLog();
  else if (calls.some(({ write }) => ERASING_SOON.has(write))) {
    soon ??= setTimeout(scrubLog, SOON);
  }
  if (calls.some(({ write }) => LEAVING.has(write))) chores.start();
  if (wrote("expireEvents")) chores.rest();
  port.postMessage({ answers, touched } satisfies BatchReport);
  touched = [];
  if (message !== "close") return;
  clearInterval(patrol);
  chores.close(performance.now() + LAST_CHORES);
  // What cannot be scrubbed now keeps its mark, and the next process scrubs it.
  if (marks.due) scrub();
  clearTimeout(retry);
  clearTimeout(soon);
  db.close();
  port.close();
});

/** Is called in a transaction that deletes or replaces the content of questions, before it commits. */
function erasesQuestions(): void {
  marks.begin();
  erasedQuestions = true;
}

/** The tables that still have to be scrubbed. The log is emptied after them. */
const due = new Set<ErasedTable>();
let retry: NodeJS.Timeout | undefined;
let soon: NodeJS.Timeout | undefined;
/** Whether somebody read the log when it was last to be emptied. A backup may read it for minutes. */
let held = false;
/** How long the last rewrite of tables took, in milliseconds. */
let lastRewrite = 0;

const chores = new ChatChores(db, {
  eraseRemains: (limit) => erasures.eraseRemains(limit),
  begin: () => marks.begin(),
  end: scrubLog,
});
takeOver();
chores.rest();
const patrol = setInterval(takeOver, PATROL);
// Reports that the thread has started.
port.postMessage({ answers: [], touched } satisfies BatchReport);

/** Finishes the erasures of processes that died. */
function takeOver(): void {
  const { count } = marks;
  succeeds(() => marks.adopt());
  if (marks.count > count) {
    ERASED_TABLES.forEach((table) => due.add(table));
    scrub();
  }
  succeeds(() => chores.start());
}

/** The next message that has arrived; undefined if there is none. */
function next(): Message | undefined {
  const received = receiveMessageOnPort(port) as { message: Message } | null;
  return received?.message;
}

/**
 * Removes everything that was erased from the files of the database.
 * @param pause after how many milliseconds it is tried again if it fails.
 */
function scrub(pause = FIRST_RETRY): void {
  clearTimeout(retry);
  retry = undefined;
  if (due.size > 0 && succeeds(rewrite)) due.clear();
  // Without the tables, the mark has to stay.
  if (due.size === 0 && emptied() && succeeds(() => marks.end())) return;
  retry = setTimeout(scrub, pause, Math.min(2 * pause, LONGEST_RETRY));
}

/** Removes what was erased and is only in the log. Tables that wait for their scrub go on waiting. */
function scrubLog(): void {
  clearTimeout(soon);
  soon = undefined;
  if (due.size === 0) scrub();
  else emptied();
}

/** Empties the log if it can. Nobody waits for the same reader twice. */
function emptied(): boolean {
  held = !emptyLog(db, held ? 0 : PATIENCE);
  return !held;
}

/** Whether one of the calls has deleted a message. */
function deleted(calls: WriteCall[], answers: WriteAnswer[]): boolean {
  const ids = calls
    .filter(({ write }) => write === "deleteMessage")
    .map(({ id }) => id);
  return answers.some(
    (answer) => "result" in answer && ids.includes(answer.id),
  );
}

/** Whether some work succeeded. Earlier writes do not depend on it. */
function succeeds(work: () => void): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

/**
 * Erases users and all their bytes in the same transaction. When the answer is sent,
 * they are gone from the database file, and from its log as soon as nobody reads it.
 */
function erase(users: WriteCall[]): WriteAnswer[] {
  // Switching foreign keys makes SQLite prepare every statement again.
  if (users.length === 0) return [];
  return withoutForeignKeys(db, () =>
    commit(users, (answers) => {
      if (answers.some((answer) => "result" in answer)) {
        rewriteTable(db, "users");
        rewriteTable(db, "blocks");
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
 * Runs all calls in one transaction. Each succeeds or fails alone, unless the commit
 * fails.
 * @param finish runs at the end of the transaction.
 */
function commit(
  batch: WriteCall[],
  finish?: (answers: WriteAnswer[]) => void,
): WriteAnswer[] {
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
      asDoubtful(error) ?? storeErrorOf(error) ?? toFault(error);
    return batch.map(({ id }) => ({ id, problem, message }));
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
