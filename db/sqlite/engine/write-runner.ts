import { StoreError } from "../../contract/store.js";
import { memberWrites } from "../chat/chat-members.js";
import { messageWrites } from "../chat/chat-messages.js";
import { chatErasures } from "../chat/chat-remains.js";
import { copyWrites } from "../copies/world-copies.js";
import { Erasing } from "../erasure/erasing.js";
import { rewriteTable } from "../erasure/scrub.js";
import { logPruning } from "../log/log-pruning.js";
import { toSent, WriteLog } from "../log/log-writes.js";
import { roomWrites } from "../rooms/room-writes.js";
import { userWrites } from "../users/user-writes.js";
import { worldWrites } from "../worlds/world-writes.js";
import { type Batch, batches, failureOf } from "./batches.js";
import type { Connection } from "./connection.js";
import { openForWriting } from "./database.js";
import { ownWrites } from "./own-writes.js";
import { domainWrites, sqlOn } from "./sql.js";
import type {
  BatchReport,
  WriteAnswer,
  WriteCall,
  WriteOptions,
  Writes,
} from "./write-calls.js";

const NOTHING: Batch = { answers: [], hints: [] };

/**
 * Runs writes on a connection of its own, and erases what they leave in the files. A process has
 * one at a time.
 */
export class WriteRunner {
  readonly #db: Connection;
  readonly #erasing: Erasing;
  readonly #attempt: ReturnType<typeof batches>;

  /** @throws {StoreError} `unusable`. */
  constructor({ dataDir, author, audits, lockTimeout }: WriteOptions) {
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
    erasing.start();
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
    const hints = written.hints.concat(erased.hints).map(toSent);
    this.#erasing.after(calls, answers);
    return { answers, hints };
  }

  /** Ends, and erases as much as it can. */
  close(): void {
    this.#erasing.close();
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
