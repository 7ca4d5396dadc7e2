import { createHash, randomUUID } from "node:crypto";
import pLimit from "p-limit";
import type { BucketOptions } from "../../choice.js";
import {
  compareKeys,
  type FileEntry,
  type FileStore,
  identityOf,
  identityText,
  isDoubtful,
  type ReadableFile,
  type StoredBytes,
} from "../../contract/file-store.js";
import { StoreError } from "../../contract/store.js";
import { WorkFolder } from "../../local/work-folder.js";
import { ObjectBucket, type ObjectHead } from "./bucket.js";
import { isTime } from "./listing.js";
import { allNotes, isOfWork, keysOf, type Note, Notes, untilOver } from "./notes.js";

/** The object that holds the bucket's identity. */
const IDENTITY = "foyer.json";

/**
 * The metadata key for a file's modification time, in milliseconds since 1970. The server's own
 * timestamp changes when a backup is restored, but the file's `ETag` must not.
 */
const MODIFIED = "foyer-modified";

const REMOVALS = 16;

/** The interval between sweeps while there are no notes. */
const SWEEP_INTERVAL_MS = 10_000;

/** Lifetime of a file's URL, in seconds. */
const LINK_LIFE = 3600;

/**
 * Stores files in an S3 or S3-compatible bucket. Notes in the bucket name the files that a crash
 * may leave behind; see notes.ts. Each object in the bucket is a stored file, a note, a heartbeat,
 * or the bucket's identity.
 */
export class S3Files implements FileStore {
  readonly linkOrigin?: string;
  readonly #bucket: ObjectBucket;
  readonly #notes: Notes;
  readonly #work: WorkFolder;

  private constructor(bucket: ObjectBucket, dataDir: string, linkOrigin?: string) {
    this.#bucket = bucket;
    this.#notes = new Notes(bucket);
    this.#work = new WorkFolder(dataDir);
    if (linkOrigin !== undefined) this.linkOrigin = linkOrigin;
  }

  /**
   * Opens an existing bucket; never creates one.
   * @param dataDir contains the work folders of {@link withScratch}.
   * @throws {StoreError} `unusable`, with a one-line message, if the bucket does not exist or
   * rejects requests.
   */
  static async open(options: BucketOptions, dataDir: string): Promise<S3Files> {
    const bucket = new ObjectBucket(options);
    try {
      await allNotes(bucket);
      if (!options.redirect) return new S3Files(bucket, dataDir);
      const { url } = await bucket.link(IDENTITY, LINK_LIFE, {
        type: "text/plain",
        cacheControl: "no-store",
      });
      return new S3Files(bucket, dataDir, new URL(url).origin);
    } catch (error) {
      bucket.close();
      throw error;
    }
  }

  async put(
    key: string,
    source: AsyncIterable<Uint8Array>,
    record: (stored: StoredBytes) => Promise<void>,
    modified = new Date(),
  ): Promise<void> {
    const note = await this.#notes.ofKey(key);
    const measured = new Measured(source);
    const metadata = { [MODIFIED]: String(modified.getTime()) };
    try {
      await this.#bucket.upload(key, measured.bytes(), metadata);
    } catch (error) {
      if (measured.failure) {
        await this.#erase(key, note);
        throw measured.failure.error;
      }
      // A failed request may still succeed on the server later, so leave the cleanup to a sweep.
      note.leave();
      throw error;
    }
    try {
      note.confirm();
      await record(measured.stored());
    } catch (error) {
      if (isDoubtful(error)) note.leave();
      else await this.#erase(key, note);
      throw error;
    }
    await note.settle();
  }

  async open(key: string): Promise<ReadableFile | undefined> {
    const found = await this.#bucket.head(key);
    if (!found) return undefined;
    const { size } = found;
    const whole = { start: 0, end: size - 1 };
    return {
      size,
      modified: timeOf(found),
      read: (range = whole) => this.#bucket.read(key, range),
      ...(this.linkOrigin !== undefined && {
        link: (headers) => this.#bucket.link(key, LINK_LIFE, headers),
      }),
    };
  }

  remove(key: string): Promise<void> {
    return this.#bucket.remove(key);
  }

  async discard(keys: readonly string[], forget: () => Promise<readonly string[]>): Promise<void> {
    const note = await this.#notes.ofKeys(keys);
    let forgotten: readonly string[];
    try {
      note.confirm();
      forgotten = await forget();
    } catch (error) {
      if (isDoubtful(error)) note.leave();
      else await note.settle();
      throw error;
    }
    try {
      await pLimit(REMOVALS).map(forgotten, (key) => this.remove(key));
    } catch (error) {
      note.leave();
      throw error;
    }
    await note.settle();
  }

  withScratch<T>(source: AsyncIterable<Uint8Array>, use: (path: string) => Promise<T>): Promise<T> {
    return this.#work.withScratch(source, use);
  }

  async sweep(isRecorded: (key: string) => Promise<boolean>): Promise<number> {
    await this.#work.sweep(async () => {});
    let next = SWEEP_INTERVAL_MS;
    for (const life of await allNotes(this.#bucket)) {
      if (!life.isOver) {
        next = Math.min(next, untilOver(life));
        continue;
      }
      for (const note of life.notes) {
        for (const key of await keysOf(this.#bucket, note)) {
          if (!(await isRecorded(key))) await this.#bucket.erase(key);
        }
        await this.#bucket.remove(note);
      }
      await this.#bucket.remove(life.alive);
    }
    return next;
  }

  async *keys(after = ""): AsyncGenerator<FileEntry> {
    let last = after;
    for await (const { objects } of this.#bucket.list("", after)) {
      for (const { key, size } of objects) {
        if (compareKeys(key, last) <= 0) {
          throw new StoreError(
            "unusable",
            "the bucket does not list its objects in the order of their keys",
          );
        }
        last = key;
        if (key !== IDENTITY && !isOfWork(key)) yield { key, size };
      }
    }
  }

  async unsettled(): Promise<ReadonlySet<string>> {
    const keys = new Set<string>();
    for (const { notes } of await allNotes(this.#bucket)) {
      for (const note of notes) {
        for (const key of await keysOf(this.#bucket, note)) keys.add(key);
      }
    }
    return keys;
  }

  async identify(): Promise<string> {
    const found = await this.#identity();
    if (found !== undefined) return found;
    await this.#bucket.writeOnce(IDENTITY, identityText(randomUUID()));
    const identity = await this.#identity();
    if (identity !== undefined) return identity;
    throw new StoreError("unusable", `the bucket does not keep ${IDENTITY}`);
  }

  async #identity(): Promise<string | undefined> {
    const text = await this.#bucket.text(IDENTITY);
    if (text === undefined) return undefined;
    const identity = identityOf(text);
    if (identity !== undefined) return identity;
    throw new StoreError("unusable", `${IDENTITY} in the bucket is not Foyer's`);
  }

  async #erase(key: string, note: Note): Promise<void> {
    await this.#bucket.erase(key).then(
      () => note.settle(),
      () => note.leave(),
    );
  }

  async close(): Promise<void> {
    await this.#notes.close();
    await this.#work.close();
    this.#bucket.close();
  }
}

/** Returns a file's modification time. For an object that Foyer did not store, returns the server's timestamp. */
function timeOf({ modified, metadata }: ObjectHead): Date {
  const time = new Date(Number(metadata[MODIFIED] ?? NaN));
  return isTime(time) ? time : modified;
}

class Measured {
  readonly #source: AsyncIterable<Uint8Array>;
  readonly #sha256 = createHash("sha256");
  #size = 0;
  failure?: { error: unknown };

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source;
  }

  async *bytes(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of this.#source) {
        this.#sha256.update(chunk);
        this.#size += chunk.length;
        yield chunk;
      }
    } catch (error) {
      this.failure = { error };
      throw error;
    }
  }

  stored(): StoredBytes {
    return { size: this.#size, sha256: this.#sha256.digest("hex") };
  }
}
