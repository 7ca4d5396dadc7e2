import type { Readable } from "node:stream";
import { type FileDigest, StoreError } from "./store.js";

export type StoredBytes = Omit<FileDigest, "key">;

/** A byte range in a file. Both offsets are inclusive and start from 0. */
export interface ByteRange {
  start: number;
  end: number;
}

/** A stored file that can be read. Keeps no file or connection open. */
export interface ReadableFile {
  /** In bytes. */
  size: number;
  modified: Date;
  /**
   * Opens the file. The stream fails if the file ends before the range does.
   * @param range the whole file by default.
   * @returns undefined if the file has been removed.
   */
  read(range?: ByteRange): Promise<Readable | undefined>;
  /**
   * Returns a public URL at which clients load the file without involving this server. Present only
   * if the store is configured for such URLs.
   * @param headers the headers of the response.
   */
  link?(headers: LinkHeaders): Promise<FileLink>;
}

/** The `Content-Type` and `Cache-Control` of a file that clients load from another server. */
export interface LinkHeaders {
  type: string;
  cacheControl: string;
}

export interface FileLink {
  url: string;
  /** The link's lifetime. */
  seconds: number;
}

export interface FileEntry {
  key: string;
  /** In bytes. */
  size: number;
}

/** Compares keys by their UTF-8 bytes, the order used for all lists of keys. */
export const compareKeys = (a: string, b: string): number =>
  Buffer.compare(Buffer.from(a), Buffer.from(b));

/**
 * Convert a file store's identity to the text that is stored, and back. `identityOf` returns
 * undefined if the text contains no identity.
 */
export const identityText = (identity: string): string => JSON.stringify({ identity });
export const identityOf = (text: string): string | undefined =>
  /^\{"identity":"([\w-]+)"\}$/.exec(text)?.[1];

/** Whether an error leaves it unknown if a write took effect. If so, the write's note is kept. */
export const isDoubtful = (error: unknown): boolean =>
  error instanceof StoreError && error.problem === "doubtful";

/**
 * Stores the bytes of files under keys. A key is a path of names joined by slashes. The caller
 * creates keys and ensures that they are unique.
 */
export interface FileStore {
  /**
   * Stores either all bytes under a new key, or none. This holds even if the process crashes, or if
   * `source` or `record` fails.
   * @param source the bytes; its errors are rethrown.
   * @param record records the key; called once the bytes are durable. If `record` fails, the bytes
   * are removed. If `record` fails with a `StoreError` `doubtful`, the bytes are kept, and {@link
   * sweep} removes them if the key has not been recorded.
   * @param modified the file's modification time; now by default. A file system that cannot
   * represent this time stores a different time.
   * @throws {StoreError} `full` or `unusable`.
   */
  put(
    key: string,
    source: AsyncIterable<Uint8Array>,
    record: (stored: StoredBytes) => Promise<void>,
    modified?: Date,
  ): Promise<void>;

  /** @returns the file, or undefined if no file has this key. */
  open(key: string): Promise<ReadableFile | undefined>;

  remove(key: string): Promise<void>;

  /**
   * Removes bytes along with their records. If a crash interrupts the removal, {@link sweep}
   * removes the bytes whose records are gone.
   * @param keys the keys that the records are expected to have.
   * @param forget removes the records, and returns their keys.
   */
  discard(keys: readonly string[], forget: () => Promise<readonly string[]>): Promise<void>;

  /**
   * Writes bytes to a temporary local file, for a library that cannot read a stream.
   * @param use receives the file's path. The file is deleted once `use` settles.
   */
  withScratch<T>(source: AsyncIterable<Uint8Array>, use: (path: string) => Promise<T>): Promise<T>;

  /**
   * Cleans up what crashed processes left unfinished.
   * @param isRecorded whether the store has a record with this key.
   * @returns the delay until the next sweep, in milliseconds.
   */
  sweep(isRecorded: (key: string) => Promise<boolean>): Promise<number>;

  /**
   * Lists all stored files, in the order of {@link compareKeys}.
   * @param after an exclusive lower bound for the keys.
   */
  keys(after?: string): AsyncIterable<FileEntry>;

  /** Returns the keys that any process is about to record or remove. */
  unsettled(): Promise<ReadonlySet<string>>;

  /**
   * Returns the identity of this file store, which is the same for all processes that use the
   * store. The first call ever assigns a random identity.
   */
  identify(): Promise<string>;

  /** The origin of the URLs that {@link ReadableFile.link} returns. Unset if the store provides no such URLs. */
  readonly linkOrigin?: string;

  /** Releases this process's locks and work folder. */
  close(): Promise<void>;
}
