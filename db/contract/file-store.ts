import type { Readable } from "node:stream";
import { type FileDigest, StoreError } from "./store.js";

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
  /**
   * An address at which clients load the file without this server. The address works for
   * everybody. Only a store that is set up for it has such addresses.
   * @param headers of the answer.
   */
  link?(headers: LinkHeaders): Promise<FileLink>;
}

/** `Content-Type` and `Cache-Control` of a file that clients load elsewhere. */
export interface LinkHeaders {
  type: string;
  cacheControl: string;
}

export interface FileLink {
  url: string;
  /** For how long it works. */
  seconds: number;
}

export interface FileEntry {
  key: string;
  /** In bytes. */
  size: number;
}

/** Compares keys by their UTF-8 bytes, which is the order of all lists of keys. */
export const compareKeys = (a: string, b: string): number =>
  Buffer.compare(Buffer.from(a), Buffer.from(b));

/** The text that names a place of files, and the name in it; undefined if it has none. */
export const identityText = (identity: string): string => JSON.stringify({ identity });
export const identityOf = (text: string): string | undefined =>
  /^\{"identity":"([\w-]+)"\}$/.exec(text)?.[1];

/** Whether a write may or may not have happened. Then its note stays. */
export const isDoubtful = (error: unknown): boolean =>
  error instanceof StoreError && error.problem === "doubtful";

/**
 * Stores the bytes of files under keys. A key is a path of names joined by
 * slashes. The caller makes up keys and keeps them unique.
 */
export interface FileStore {
  /**
   * Stores bytes under a new key, completely or not at all. That holds after a
   * crash, and when the source or the record fails.
   * @param source the bytes; its errors are thrown.
   * @param record makes the key known; called when the bytes are durable. If it
   *   fails, the bytes are removed. If it fails with a `StoreError` `doubtful`, they
   *   stay, and {@link sweep} removes them if the key is not recorded.
   * @param modified the time of the file: now by default. A file system that cannot
   *   keep it gives the file another one.
   * @throws {StoreError} `full` or `unusable`.
   */
  put(
    key: string,
    source: AsyncIterable<Uint8Array>,
    record: (stored: StoredBytes) => Promise<void>,
    modified?: Date,
  ): Promise<void>;

  /** @returns the file, or undefined where there is none. */
  open(key: string): Promise<ReadableFile | undefined>;

  remove(key: string): Promise<void>;

  /**
   * Removes bytes together with their records. If a crash comes in between,
   * {@link sweep} removes the bytes whose records are gone.
   * @param keys the keys that the records are expected to have.
   * @param forget removes the records, and returns their keys.
   */
  discard(keys: readonly string[], forget: () => Promise<readonly string[]>): Promise<void>;

  /**
   * Keeps bytes in a local file, for a library that cannot read a stream.
   * @param use gets the path of the file, which is deleted when `use` ends.
   */
  withScratch<T>(source: AsyncIterable<Uint8Array>, use: (path: string) => Promise<T>): Promise<T>;

  /**
   * Removes the unfinished work of crashed processes.
   * @param isRecorded whether the store has a record with this key.
   * @returns in how many milliseconds to sweep again.
   */
  sweep(isRecorded: (key: string) => Promise<boolean>): Promise<number>;

  /**
   * All files in place, in the order of {@link compareKeys}.
   * @param after only keys beyond this one.
   */
  keys(after?: string): AsyncIterable<FileEntry>;

  /** The keys that some process is about to record or to remove. */
  unsettled(): Promise<ReadonlySet<string>>;

  /**
   * The name of the place of the files, the same for all processes that use it. The very
   * first call gives it a random one.
   */
  identify(): Promise<string>;

  /** The origin of the addresses of {@link ReadableFile.link}, if there are any. */
  readonly linkOrigin?: string;

  /** Releases the locks and the work folder of this process. */
  close(): Promise<void>;
}
