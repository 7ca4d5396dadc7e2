import {
  parentPort,
  receiveMessageOnPort,
  workerData,
} from "node:worker_threads";
import { StoreError } from "../store.js";
import { openForWriting, storeErrorOf } from "./database.js";
import { Erasures } from "./erasures.js";
import { roomWrites } from "./room-writes.js";
import { userWrites } from "./user-writes.js";
import { copyWrites } from "./world-copies.js";
import { worldWrites } from "./world-writes.js";
import type { Answer, Call, Message, Writes } from "./writer.js";

// The only thread of this process that writes. Whatever arrived while the disk
// was syncing goes into the next transaction together: one sync for all of it.

/** Writes after which the old bytes may not stay anywhere in the files of the database. */
const ERASING = new Set<keyof Writes>(["eraseUser", "deleteWorld"]);

/**
 * After how many milliseconds it is tried again, when another process was in
 * the way or the disk was full; it doubles.
 */
const RETRY = 500;
const LONGEST_RETRY = 60_000;

/** More in one transaction would make the first wait for the last. */
const MAX_BATCH = 500;

const port = parentPort!;
const { dataDir } = workerData as { dataDir: string };
const db = openForWriting(dataDir);
const erasures = new Erasures(dataDir);
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

port.on("message", (first: Message) => {
  const messages = [first, ...waiting(MAX_BATCH - 1)];
  const calls = messages.filter((message) => message !== "close");
  const isErasing = calls.some(({ write }) => ERASING.has(write));
  const answers = commit(calls, isErasing);
  if (isErasing) scrubAll();
  port.postMessage(answers);
  if (calls.length === messages.length) return;
  // What is still to be scrubbed is marked, and done by who opens it next.
  clearTimeout(retry);
  db.close();
  port.close();
});

/** What is left to be done of scrubbing: all of it, or the log only. */
let due: "all" | "log" | undefined;
let pause = RETRY;
let retry: NodeJS.Timeout | undefined;

if (done(() => erasures.adopt()) && erasures.due) scrubAll();
// Says that it has begun.
port.postMessage([] satisfies Answer[]);

/** What else has arrived. */
function* waiting(most: number): Generator<Message> {
  for (let count = 0; count < most; count++) {
    const received = receiveMessageOnPort(port) as { message: Message } | null;
    if (!received) return;
    yield received.message;
  }
}

function scrubAll(): void {
  due = "all";
  pause = RETRY;
  scrub();
}

/**
 * Leaves nothing in the files but what is in the tables. To overwrite what is
 * deleted (`secure_delete`) is not enough: when SQLite moves a row to another
 * page, its bytes stay behind in the old one, where no deletion finds them. So
 * the whole database is written anew, and then the log is emptied.
 */
function scrub(): void {
  clearTimeout(retry);
  if (due === "all" && done(() => void db.exec("VACUUM"))) due = "log";
  if (due === "log" && emptyLog() && done(() => erasures.end())) {
    due = undefined;
    return;
  }
  retry = setTimeout(scrub, pause);
  pause = Math.min(2 * pause, LONGEST_RETRY);
}

function emptyLog(): boolean {
  // It must not wait: a backup or a replication may read for a long time, and
  // what is to be written would wait with it.
  const patience = db.pragma("busy_timeout", { simple: true }) as number;
  db.pragma("busy_timeout = 0");
  const emptied = done(() => {
    const busy = db.pragma("wal_checkpoint(TRUNCATE)", { simple: true });
    if (busy !== 0) throw new StoreError("busy", "somebody reads the log");
  });
  db.pragma(`busy_timeout = ${patience}`);
  return emptied;
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

/** Does all calls in one transaction; each stands or falls alone, unless the commit falls. */
function commit(batch: Call[], isErasing: boolean): Answer[] {
  if (batch.length === 0) return [];
  try {
    if (isErasing) erasures.begin();
    return db.transaction(() => batch.map(attempt)).immediate();
  } catch (error) {
    const { problem, message } =
      doubt(error) ?? storeErrorOf(error) ?? fault(error);
    return batch.map(({ id }) => ({ id, problem, message }));
  }
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

/** A fault of our own: no word of it goes to a client, all of it to the log. */
function fault(error: unknown): Pick<StoreError, "message"> & {
  problem: "fault";
  field?: undefined;
} {
  const { stack, message } = error as Error;
  return { problem: "fault", message: stack ?? message };
}
