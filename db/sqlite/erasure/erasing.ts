import { ChatChores, type ChoreHooks } from "../chat/chat-chores.js";
import type { Connection } from "../engine/connection.js";
import { ERASED_TABLES, type ErasedTable } from "./scrub.js";
import { Scrubber } from "./scrubber.js";
import type {
  WriteAnswer,
  WriteCall,
  WriteName,
} from "../engine/write-calls.js";

const isErased = (table: string): table is ErasedTable =>
  ERASED_TABLES.includes(table as ErasedTable);

/** Writes whose old bytes must not stay anywhere in the files of the database. */
const ERASING = new Set<WriteName>([
  "eraseUser",
  "deleteWorld",
  "editMessage",
  "deleteMessage",
  "emptyMessages",
  "expireEvents",
]);

/**
 * Writes whose old bytes leave the log soon, together with the bytes of other writes, and
 * not before their answers. There may be many of them. But a deleted message leaves the log
 * before the answer.
 */
const ERASING_SOON = new Set<WriteName>([
  "editMessage",
  "deleteMessage",
  "emptyMessages",
  "expireEvents",
]);

/** Writes that delete channels and leave their events. */
const LEAVING = new Set<WriteName>(["eraseUser", "deleteWorld", "deleteRoom"]);

/** Whether something follows the commit of a write in any case. */
const isFollowed = ([, name]: WriteCall): boolean =>
  ERASING.has(name) || LEAVING.has(name);

/** How often it is looked whether another process died before it had finished an erasure, in milliseconds. */
const PATROL = 60_000;

/** How long an ending thread erases the remains of deleted channels, in milliseconds. */
const LAST_CHORES = 2000;

/** Removes erased bytes from the files of the database. */
export class Erasing {
  readonly #scrubber: Scrubber;
  readonly #chores: ChatChores;
  #patrol: NodeJS.Timeout | undefined;
  /** The tables of which the present writes have deleted or replaced rows. */
  readonly #erased = new Set<ErasedTable>();
  /** Whether they erase data of the log of a world. */
  #erasedLog = false;

  /** @param eraseRemains erases events of deleted channels, see {@link ChoreHooks}. */
  constructor(
    db: Connection,
    dataDir: string,
    eraseRemains: ChoreHooks["eraseRemains"],
  ) {
    this.#scrubber = new Scrubber(db, dataDir);
    this.#chores = new ChatChores(db, {
      eraseRemains,
      begin: () => this.#scrubber.begin(),
      end: () => this.#scrubber.scrubLog(),
    });
  }

  /** Finishes the work that other processes left, now and from time to time. */
  start(): void {
    this.#takeOver();
    this.#chores.rest();
    this.#patrol = setInterval(() => this.#takeOver(), PATROL);
  }

  /** Whether nothing is left to do but to look after other processes. */
  get isAtRest(): boolean {
    return this.#scrubber.isAtRest && this.#chores.isAtRest;
  }

  /** Is called before the transaction of some writes. */
  before(calls: readonly WriteCall[]): void {
    if (calls.some((call) => ERASING.has(call[1]))) this.#scrubber.begin();
  }

  /** Is called in a transaction that deletes or replaces rows of these tables, before it commits. */
  erases(tables: readonly string[]): void {
    this.#scrubber.begin();
    for (const table of tables) {
      // The scrubber would not look at it after the death of this process.
      if (!isErased(table)) throw new Error(`${table} is not in ERASED_TABLES`);
      this.#erased.add(table);
    }
  }

  /** Is called in a transaction that erases data of the log of a world, before it commits. */
  erasesLog(): void {
    this.#scrubber.begin();
    this.#erasedLog = true;
  }

  /** Is called after the commit of some writes, and before their answers are sent. */
  after(calls: readonly WriteCall[], answers: readonly WriteAnswer[]): void {
    const hasErased = this.#erased.size > 0 || this.#erasedLog;
    if (hasErased || calls.some(isFollowed)) this.#follow(calls, answers);
  }

  #follow(calls: readonly WriteCall[], answers: readonly WriteAnswer[]): void {
    const written = new Set(calls.map((call) => call[1]));
    const wrote = (name: WriteName) => written.has(name);
    const anyOf = (names: ReadonlySet<WriteName>) =>
      [...written].some((write) => names.has(write));
    const tables: ErasedTable[] = [];
    if (wrote("deleteWorld")) tables.push(...ERASED_TABLES);
    tables.push(...this.#erased);
    this.#erased.clear();
    if (wrote("deleteWorld") || wrote("eraseUser")) {
      this.#scrubber.scrub(tables);
    } else if (tables.length > 0) this.#scrubber.scrubInTime(tables);
    // Any user may ask to delete messages of others, and emptying the log costs a sync.
    if (deleted(calls, answers)) this.#scrubber.scrubLog();
    else if (anyOf(ERASING_SOON) || this.#erasedLog) {
      this.#scrubber.scrubLogSoon();
    }
    this.#erasedLog = false;
    if (anyOf(LEAVING)) this.#chores.start();
    if (wrote("expireEvents")) this.#chores.rest();
  }

  /**
   * Ends.
   * @param finishes whether it erases as many remains of deleted channels as it can. Otherwise,
   *   the next thread erases them.
   */
  close(finishes: boolean): void {
    clearInterval(this.#patrol);
    this.#chores.close(finishes ? performance.now() + LAST_CHORES : -Infinity);
    this.#scrubber.close();
  }

  #takeOver(): void {
    this.#scrubber.takeOver();
    try {
      this.#chores.start();
    } catch {
      // The next patrol tries it again.
    }
  }
}

/** Whether one of the calls has deleted a message. */
function deleted(
  calls: readonly WriteCall[],
  answers: readonly WriteAnswer[],
): boolean {
  const ids = calls
    .filter((call) => call[1] === "deleteMessage")
    .map((call) => call[0]);
  if (ids.length === 0) return false;
  return answers.some((answer) => !answer[2] && ids.includes(answer[0]));
}
