import type { Database as Connection } from "better-sqlite3";
import type { Author } from "../../../contract/author.js";
import type { StoreProblem } from "../../../contract/store.js";
import type { DomainWrite } from "../../../domains/index.js";
import type { logPruning } from "../log/log-reads.js";
import type { SentHint } from "../log/log-writes.js";

export type Writes = ReturnType<typeof logPruning>;

export type WriteName = keyof Writes | DomainWrite;

/**
 * A write, as sent to the writer thread. Messages between the threads are tuples, because cloning
 * field names would dominate the cost.
 */
export type WriteCall = readonly [
  id: number,
  write: WriteName,
  args: readonly unknown[],
  by: Author | undefined,
];

/** A message to the writer thread: either writes to run, or a request to end. */
export type WriterMessage = WriteCall[] | "close";

export interface WriteFailure {
  problem: StoreProblem | "fault";
  message: string;
  field?: string;
}

/** The outcome of a write: its result, or the failure. */
export type WriteAnswer =
  | readonly [id: number, result: unknown]
  | readonly [id: number, result: undefined, failure: WriteFailure];

/**
 * The writer thread's report after running writes. A chat delivery is the same object in an answer
 * and in a hint, so it is cloned only once.
 */
export interface BatchReport {
  answers: WriteAnswer[];
  hints: SentHint[];
  /** Whether the writes left erased bytes in the database files. */
  erased: boolean;
}

export interface WriterThreadOptions {
  dataDir: string;
  /** An in-memory database to use instead of the database in {@link dataDir}. */
  memory?: Connection;
  /** The author of writes that name no author. */
  author: Author;
  audits: boolean;
  /** How long a write waits for another process's lock, in milliseconds. */
  lockTimeout: number;
}

/** Converts an error that is a bug in Foyer. The stack trace is logged, but never sent to a client. */
export function toFault(error: unknown): WriteFailure & { field?: undefined } {
  const { stack, message } = error as Error;
  return { problem: "fault", message: stack ?? message };
}
