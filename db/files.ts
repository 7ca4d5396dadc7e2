import type { Readable } from "node:stream";
import type { FileDigest } from "./store.js";

/** What storing some bytes came to. */
export type StoredBytes = Omit<FileDigest, "key">;

/** A part of a file, by the numbers of its first and its last byte. */
export interface ByteRange {
  start: number;
  end: number;
}

/** What is known of a stored file before it is read. It holds nothing open. */
export interface ReadableFile {
  /** In bytes. */
  size: number;
  modified: Date;
  /**
   * Opens the file. The stream fails if the file ends before its part does.
   * @param range the whole file by default.
   * @returns undefined if the file was removed since.
   */
  read(range?: ByteRange): Promise<Readable | undefined>;
}

/**
 * Where the bytes of files lie. A key is a path of names joined by slashes;
 * what makes one up sees to it that nobody else does.
 */
export interface FileStore {
  /**
   * Stores bytes under a new key, whole or not at all: also after a crash,
   * and also when the source or the record fails.
   * @param source the bytes; what it throws is thrown.
   * @param record says that they are there, where others will see it; called
   *   when they lie safely in place. When it fails, they are taken away again; when
   *   it is a {@link StoreError} `doubtful`, {@link sweep} does that, if nobody was told.
   * @throws {StoreError} `full` or `unusable`.
   */
  put(
    key: string,
    source: AsyncIterable<Uint8Array>,
    record: (stored: StoredBytes) => Promise<void>,
  ): Promise<void>;

  /** @returns the file, or undefined where there is none. */
  open(key: string): Promise<ReadableFile | undefined>;

  /** Takes bytes away; nothing happens where there are none. */
  remove(key: string): Promise<void>;

  /**
   * Takes bytes away together with what names them: also when a crash comes
   * between, as {@link sweep} then takes the rest.
   * @param keys what is named as far as the caller knows.
   * @param forget takes the names away, and tells the keys of all of them.
   */
  discard(
    keys: readonly string[],
    forget: () => Promise<readonly string[]>,
  ): Promise<void>;

  /**
   * Keeps bytes in a local file while somebody works on it who cannot work on a stream.
   * @param use gets the path of the file, which is gone when it returns.
   */
  withScratch<T>(
    source: AsyncIterable<Uint8Array>,
    use: (path: string) => Promise<T>,
  ): Promise<T>;

  /**
   * Takes away what crashed processes left half-done.
   * @param isRecorded whether others have been told of a key.
   */
  sweep(isRecorded: (key: string) => Promise<boolean>): Promise<void>;

  /** Lets go of what this process holds. */
  close(): Promise<void>;
}
