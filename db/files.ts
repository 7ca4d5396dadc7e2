import type { Readable } from "node:stream";
import type { FileDigest } from "./store.js";

/** The size and the checksum of stored bytes. */
export type StoredBytes = Omit<FileDigest, "key">;

/** A part of a file: the offsets of its first and its last byte, from 0. */
export interface ByteRange {
  start: number;
  end: number;
}

/** A stored file that can be read. It holds no resource open. */
export interface ReadableFile {
  /** In bytes. */
  size: number;
  modified: Date;
  /**
   * Opens the file. The stream fails if the file ends before the range does.
   * @param range the whole file by default.
   * @returns undefined if the file was removed in the meantime.
   */
  read(range?: ByteRange): Promise<Readable | undefined>;
}

/**
 * Stores the bytes of files under keys. A key is a path of names joined by
 * slashes. The caller makes up keys and keeps them unique.
 */
export interface FileStore {
  /**
   * Stores bytes under a new key, completely or not at all. That holds after a
   * crash, and when the source or the record fails.
   * @param source the bytes; what it throws is thrown.
   * @param record makes the key known; called when the bytes are durable. If it
   *   fails, the bytes are removed. If it fails with a `StoreError` `doubtful`, they
   *   stay, and {@link sweep} removes them if the key is not recorded.
   * @throws {StoreError} `full` or `unusable`.
   */
  put(
    key: string,
    source: AsyncIterable<Uint8Array>,
    record: (stored: StoredBytes) => Promise<void>,
  ): Promise<void>;

  /** @returns the file, or undefined where there is none. */
  open(key: string): Promise<ReadableFile | undefined>;

  /** Removes the bytes of a key, if there are any. */
  remove(key: string): Promise<void>;

  /**
   * Removes bytes together with their records. If a crash comes in between,
   * {@link sweep} removes the bytes whose records are gone.
   * @param keys the keys that the records are expected to have.
   * @param forget removes the records, and returns their keys.
   */
  discard(
    keys: readonly string[],
    forget: () => Promise<readonly string[]>,
  ): Promise<void>;

  /**
   * Keeps bytes in a local file, for a library that cannot read a stream.
   * @param use gets the path of the file, which is deleted when `use` ends.
   */
  withScratch<T>(
    source: AsyncIterable<Uint8Array>,
    use: (path: string) => Promise<T>,
  ): Promise<T>;

  /**
   * Removes what crashed processes left unfinished.
   * @param isRecorded whether the store has a record with this key.
   */
  sweep(isRecorded: (key: string) => Promise<boolean>): Promise<void>;

  /** Releases the locks and the work folder of this process. */
  close(): Promise<void>;
}
