import type { Database as Connection } from "better-sqlite3";
import type { Author } from "../../../contract/author.js";
import type { StoreProblem } from "../../../contract/store.js";
import type { DomainWrite } from "../../../domains/index.js";
import type { logPruning } from "../log/log-reads.js";
import type { SentHint } from "../log/log-writes.js";

export type Writes = ReturnType<typeof logPruning>;

export type WriteName = keyof Writes | DomainWrite;

/**
 * A write as it is sent to the writer thread. Messages between the threads have values by
 * position, because to copy the names of fields takes most of the time.
 */
export type WriteCall = readonly [
  id: number,
  write: WriteName,
  args: readonly unknown[],
  by: Author | undefined,
];

/** A message to the thread: writes, or to end. */
export type Message = WriteCall[] | "close";

export interface Failure {
  problem: StoreProblem | "fault";
  message: string;
  field?: string;
}

/** The answer to a write: its result, or why it failed. */
export type WriteAnswer =
  | readonly [id: number, result: unknown]
  | readonly [id: number, result: undefined, failure: Failure];

/**
 * A message of the thread after its transactions. A delivery of chat is the same object in
 * an answer and in a hint, so it is copied once.
 */
export interface BatchReport {
  answers: WriteAnswer[];
  hints: SentHint[];
  /** Whether erased bytes are left in the files of the database. */
  erased: boolean;
}

export interface WriteOptions {
  dataDir: string;
  /** The database in memory that is used instead of the one in {@link dataDir}. */
  memory?: Connection;
  /** The author of writes that name none. */
  author: Author;
  audits: boolean;
  /** How long a write waits for the lock of another process, in milliseconds. */
  lockTimeout: number;
}

/** A bug of Foyer. Its stack goes to the log, and nothing to the client. */
export function toFault(error: unknown): Failure & { field?: undefined } {
  const { stack, message } = error as Error;
  return { problem: "fault", message: stack ?? message };
}
