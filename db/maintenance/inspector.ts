import type { RowCounts } from "../sqlite/inspection/inspection.js";
import type { FileDigest } from "../contract/store.js";

/** The queries of a check. Other processes may write to the database meanwhile. */
export interface Inspector {
  /**
   * The faults of its structure, one line each.
   * @throws {StoreError} `unusable`, as all methods do, if it cannot be read.
   */
  damage(): Promise<string[]>;
  /** The erasures that are overdue, one line each. */
  overdue(): Promise<string[]>;
  /** The faults of its rows at one moment, one line each. */
  contradictions(): Promise<string[]>;
  counts(): Promise<RowCounts>;
  /** The size of all files, as recorded. */
  bytes(): Promise<number>;
  /**
   * The next records of files, in the order of the UTF-8 bytes of their keys.
   * @param after the last key that is known; empty for none.
   * @returns at most a few thousand; none at the end.
   */
  records(after: string): Promise<FileDigest[]>;
  /** Whether a file has this key now. */
  has(key: string): Promise<boolean>;
  close(): Promise<void>;
}
