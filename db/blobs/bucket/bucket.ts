import { Readable } from "node:stream";
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandInput,
  HeadBucketCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { isCount } from "../../../schemas/plain/shapes.js";
import type { BucketOptions } from "../../choice.js";
import type { ByteRange, FileLink, LinkHeaders } from "../../contract/file-store.js";
import { isTime, listPage, malformed, type ObjectPage } from "./listing.js";
import { readingClient, statusOf, toStoreError, writingClient } from "./s3-client.js";
import { upload } from "./upload.js";

/**
 * A public address of an object.
 * @param seconds for how long; less if the credentials end before.
 */
async function signedLink(
  client: S3Client,
  object: GetObjectCommandInput,
  seconds: number,
): Promise<FileLink> {
  const { config } = client;
  const { expiration } = await config.credentials();
  // The client has learned by how much the clock of the server differs.
  const now = Date.now() + config.systemClockOffset;
  const left = expiration ? (expiration.getTime() - now) / 1000 : Infinity;
  const expiresIn = Math.max(1, Math.floor(Math.min(seconds, left)));
  const signingDate = new Date(now);
  const command = new GetObjectCommand(object);
  const url = await getSignedUrl(client, command, { expiresIn, signingDate });
  return { url, seconds: expiresIn };
}

/**
 * Makes requests with a deadline, in case the server hangs.
 * @param requests get a signal that aborts them.
 * @param deadline how long they may take together, in milliseconds.
 * @throws what `requests` throws, or an error with the name `TimeoutError`.
 */
async function withDeadline<T>(
  requests: (signal: AbortSignal) => Promise<T>,
  deadline: number,
): Promise<T> {
  const ending = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  // Not AbortSignal.timeout, which would also end a stream that was opened. The
  // client ignores the signal while it looks for credentials.
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      ending.abort();
      const error = new Error();
      error.name = "TimeoutError";
      reject(error);
    }, deadline);
  });
  try {
    return await Promise.race([requests(ending.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** How long the next bytes of a file may take. */
const READ_TIMEOUT_MS = 10_000;

/**
 * Passes bytes on as the client reads them. The stream fails if they end early, or stop
 * coming. Time in which the client does not read does not count.
 * @param length the expected number of bytes.
 */
export function exactly(body: Readable, length: number): Readable {
  const bytes = Readable.from(bytesOf(body, length), { objectMode: false });
  // The generator may be waiting for bytes, and sees the end only after them.
  return bytes.once("close", () => body.destroy());
}

async function* bytesOf(body: Readable, length: number): AsyncGenerator<Uint8Array> {
  let left = length;
  let isAwaited = false;
  const timer = setTimeout(() => {
    if (isAwaited) body.destroy(new Error("The file stopped coming."));
  }, READ_TIMEOUT_MS);
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  try {
    for (;;) {
      isAwaited = true;
      timer.refresh();
      const next = await chunks.next();
      isAwaited = false;
      if (next.done) break;
      left -= next.value.length;
      yield next.value;
    }
  } finally {
    clearTimeout(timer);
    body.destroy();
  }
  if (left !== 0) throw new Error("The file ended early.");
}

/** How long a request without a file may take with its repetition. */
const REQUEST_TIMEOUT_MS = 4000;

/** How long a page of a list may take: some servers read many folders for it. */
const LIST_TIMEOUT_MS = 20_000;

/** The most bytes of an object that is read as a text: the keys of a world with 100,000 files. */
const MAX_TEXT = 64 * 1024 * 1024;

export interface ObjectHead {
  size: number;
  modified: Date;
  metadata: Record<string, string>;
}

/**
 * The requests that are made to a bucket. Each has an end, also if the server hangs.
 * All throw {@link StoreError} `unusable` or `full`.
 */
export class ObjectBucket {
  readonly #options: BucketOptions;
  readonly #name: string;
  readonly #writes: S3Client;
  readonly #reads: S3Client;

  constructor(options: BucketOptions) {
    this.#options = options;
    this.#name = options.bucket;
    this.#writes = writingClient(options);
    this.#reads = readingClient(options);
  }

  /** @returns undefined if there is no such object. */
  async head(key: string): Promise<ObjectHead | undefined> {
    return this.#run(async (abortSignal) => {
      const command = new HeadObjectCommand(this.#at(key));
      const found = await this.#reads
        .send(command, { abortSignal })
        .catch(async (error: unknown) => {
          if (statusOf(error) !== 404) throw error;
          // The answer has no body, so it does not tell a missing bucket from a missing object.
          const bucket = new HeadBucketCommand({ Bucket: this.#name });
          await this.#reads.send(bucket, { abortSignal });
          return undefined;
        });
      if (!found) return undefined;
      const { ContentLength, LastModified: modified, Metadata = {} } = found;
      if (!isCount(ContentLength) || !isTime(modified)) throw malformed();
      return { size: ContentLength as number, modified, metadata: Metadata };
    });
  }

  /**
   * Opens a part of an object.
   * @returns its bytes, as a stream that fails if they end early or stop coming;
   *   undefined if there is no such object.
   */
  async read(key: string, { start, end }: ByteRange): Promise<Readable | undefined> {
    if (end < start) return Readable.from([]);
    const Range = `bytes=${start}-${end}`;
    const command = new GetObjectCommand({ ...this.#at(key), Range });
    const body = await this.#run(async (abortSignal) => {
      try {
        const got = await this.#reads.send(command, { abortSignal });
        const { Body, ContentLength: length } = got;
        // A server that does not know ranges sends the whole object.
        const isPart = length !== undefined && length <= end - start + 1;
        if (Body instanceof Readable && isPart) return Body;
        if (Body instanceof Readable) Body.destroy();
        throw malformed();
      } catch (error) {
        if ((error as Error).name === "NoSuchKey") return undefined;
        if (statusOf(error) === 416) return Readable.from([]);
        throw error;
      }
    });
    return body && exactly(body, end - start + 1);
  }

  /** The text of a small object; undefined if there is none. */
  async text(key: string): Promise<string | undefined> {
    return this.#run(async (abortSignal) => {
      try {
        const command = new GetObjectCommand(this.#at(key));
        const got = await this.#reads.send(command, { abortSignal });
        const { Body, ContentLength: length = 0 } = got;
        if (!(Body instanceof Readable) || length > MAX_TEXT) {
          if (Body instanceof Readable) Body.destroy();
          throw malformed();
        }
        return await Body.transformToString();
      } catch (error) {
        if ((error as Error).name === "NoSuchKey") return undefined;
        throw error;
      }
    });
  }

  async write(key: string, text: string): Promise<void> {
    const command = new PutObjectCommand({ ...this.#at(key), Body: text });
    await this.#run((abortSignal) => this.#writes.send(command, { abortSignal }));
  }

  /**
   * Stores a small object unless there is one. Of servers that do not know the
   * condition, the last writer wins.
   */
  async writeOnce(key: string, text: string): Promise<void> {
    const put = new PutObjectCommand({ ...this.#at(key), Body: text, IfNoneMatch: "*" });
    const plain = await this.#run(async (abortSignal) => {
      try {
        await this.#writes.send(put, { abortSignal });
        return false;
      } catch (error) {
        const status = statusOf(error);
        // It exists, or another process writes it right now.
        if (status === 412 || status === 409) return false;
        if (status === 400 || status === 501) return true;
        throw error;
      }
    });
    if (plain) await this.write(key, text);
  }

  /**
   * Stores a stream as an object that appears when it is complete. The parts of a failed
   * one stay until {@link erase} removes them.
   */
  async upload(
    key: string,
    source: AsyncIterable<Uint8Array>,
    metadata: Record<string, string>,
  ): Promise<void> {
    const object = { ...this.#at(key), Metadata: metadata };
    try {
      await upload(this.#writes, object, source);
    } catch (error) {
      throw toStoreError(this.#options, error);
    }
  }

  async remove(key: string): Promise<void> {
    const command = new DeleteObjectCommand(this.#at(key));
    await this.#run((abortSignal) => this.#writes.send(command, { abortSignal }));
  }

  /** Removes an object, and the parts of uploads that never became one. */
  async erase(key: string): Promise<void> {
    const ofKey = new ListMultipartUploadsCommand({ Bucket: this.#name, Prefix: key });
    await this.#run(async (abortSignal) => {
      const { Uploads = [] } = await this.#writes
        .send(ofKey, { abortSignal })
        .catch((error: unknown) => {
          // A server that cannot list them.
          if (statusOf(error) === 501) return { Uploads: [] };
          throw error;
        });
      for (const { Key, UploadId } of Uploads) {
        if (Key !== key || UploadId === undefined) continue;
        const abort = new AbortMultipartUploadCommand({ ...this.#at(key), UploadId });
        await this.#writes.send(abort, { abortSignal });
      }
    });
    await this.remove(key);
  }

  /**
   * Lists objects in the order of the UTF-8 bytes of their keys, page by page.
   * @param prefix the beginning of their keys.
   * @param after only keys beyond this one.
   */
  async *list(prefix: string, after = ""): AsyncGenerator<ObjectPage> {
    for (let token: string | undefined, more = true; more;) {
      const input = {
        Bucket: this.#name,
        Prefix: prefix,
        ...(after !== "" && { StartAfter: after }),
        ...(token !== undefined && { ContinuationToken: token }),
      };
      const page = await this.#run(
        (abortSignal) => listPage(this.#writes, input, abortSignal),
        prefix === "" ? LIST_TIMEOUT_MS : REQUEST_TIMEOUT_MS,
      );
      yield page;
      token = page.next;
      more = token !== undefined;
    }
  }

  /**
   * A public address of an object.
   * @param seconds for how long; less if the credentials end before.
   */
  async link(key: string, seconds: number, { type, cacheControl }: LinkHeaders): Promise<FileLink> {
    const object = {
      ...this.#at(key),
      ResponseContentType: type,
      ResponseCacheControl: cacheControl,
    };
    return this.#run(() => signedLink(this.#reads, object, seconds));
  }

  close(): void {
    this.#writes.destroy();
    this.#reads.destroy();
  }

  #at(key: string) {
    return { Bucket: this.#name, Key: key };
  }

  async #run<T>(
    requests: (signal: AbortSignal) => Promise<T>,
    deadline = REQUEST_TIMEOUT_MS,
  ): Promise<T> {
    try {
      return await withDeadline(requests, deadline);
    } catch (error) {
      throw toStoreError(this.#options, error);
    }
  }
}
