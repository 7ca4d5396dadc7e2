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

async function signedLink(
  client: S3Client,
  object: GetObjectCommandInput,
  seconds: number,
): Promise<FileLink> {
  const { config } = client;
  const { expiration } = await config.credentials();
  // The client measures the clock skew between this machine and the server.
  const now = Date.now() + config.systemClockOffset;
  const left = expiration ? (expiration.getTime() - now) / 1000 : Infinity;
  const expiresIn = Math.max(1, Math.floor(Math.min(seconds, left)));
  const signingDate = new Date(now);
  const command = new GetObjectCommand(object);
  const url = await getSignedUrl(client, command, { expiresIn, signingDate });
  return { url, seconds: expiresIn };
}

/**
 * Runs requests with a deadline, in case the server hangs.
 * @param requests receives a signal that aborts the requests.
 * @param deadline total time for all requests, in milliseconds.
 * @throws any error that `requests` throws, or an error named `TimeoutError`.
 */
async function withDeadline<T>(
  requests: (signal: AbortSignal) => Promise<T>,
  deadline: number,
): Promise<T> {
  const ending = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  // AbortSignal.timeout would also abort a stream that is already open. The race is needed because
  // the client ignores the signal while resolving credentials.
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

/** Timeout for the next chunk of a file, while the client is reading. */
const READ_TIMEOUT_MS = 10_000;

/**
 * Streams bytes at the client's pace. Fails if the body ends early or stalls. Time during which the
 * client is not reading does not count as a stall.
 * @param length the expected number of bytes.
 */
export function withExactLength(body: Readable, length: number): Readable {
  const bytes = Readable.from(bytesOf(body, length), { objectMode: false });
  // Otherwise a generator that is waiting for a chunk would notice the close only once the chunk
  // arrives.
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

/** Timeout for a request without a file body, including its retry. */
const REQUEST_TIMEOUT_MS = 4000;

/** Timeout for one page of a listing. Some servers read many folders to build a page. */
const LIST_TIMEOUT_MS = 20_000;

/** The maximum size of an object read as text, in bytes: enough for the keys of a world with 100,000 files. */
const MAX_TEXT = 64 * 1024 * 1024;

export interface ObjectHead {
  size: number;
  modified: Date;
  metadata: Record<string, string>;
}

/**
 * Wraps the requests to a bucket. Each request times out if the server hangs. If a request fails,
 * the method throws a {@link StoreError} `unusable` or `full`.
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

  /** @returns undefined if the object does not exist. */
  async head(key: string): Promise<ObjectHead | undefined> {
    return this.#run(async (abortSignal) => {
      const command = new HeadObjectCommand(this.#at(key));
      const found = await this.#reads
        .send(command, { abortSignal })
        .catch(async (error: unknown) => {
          if (statusOf(error) !== 404) throw error;
          // HEAD responses have no body, so a 404 may mean a missing bucket or a missing object.
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
   * Opens a byte range of an object.
   * @returns a stream that fails if the bytes end early or stall, or undefined if the object does
   * not exist.
   */
  async read(key: string, { start, end }: ByteRange): Promise<Readable | undefined> {
    if (end < start) return Readable.from([]);
    const Range = `bytes=${start}-${end}`;
    const command = new GetObjectCommand({ ...this.#at(key), Range });
    const body = await this.#run(async (abortSignal) => {
      try {
        const got = await this.#reads.send(command, { abortSignal });
        const { Body, ContentLength: length } = got;
        // A server without range support sends the whole object.
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
    return body && withExactLength(body, end - start + 1);
  }

  /** Returns the text of a small object, or undefined if the object does not exist. */
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

  /** Stores a small object unless it already exists. On servers without conditional writes, the last writer wins. */
  async writeOnce(key: string, text: string): Promise<void> {
    const put = new PutObjectCommand({ ...this.#at(key), Body: text, IfNoneMatch: "*" });
    const plain = await this.#run(async (abortSignal) => {
      try {
        await this.#writes.send(put, { abortSignal });
        return false;
      } catch (error) {
        const status = statusOf(error);
        // The object already exists, or another process is writing it right now.
        if (status === 412 || status === 409) return false;
        if (status === 400 || status === 501) return true;
        throw error;
      }
    });
    if (plain) await this.write(key, text);
  }

  /**
   * Stores a stream as an object that becomes visible only once it is complete. The parts of a
   * failed upload remain until {@link erase} removes them.
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

  /** Removes an object and the parts left by its incomplete uploads. */
  async erase(key: string): Promise<void> {
    const ofKey = new ListMultipartUploadsCommand({ Bucket: this.#name, Prefix: key });
    await this.#run(async (abortSignal) => {
      const { Uploads = [] } = await this.#writes
        .send(ofKey, { abortSignal })
        .catch((error: unknown) => {
          // The server cannot list multipart uploads.
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
   * Lists objects page by page, ordered by the UTF-8 bytes of their keys.
   * @param prefix the key prefix.
   * @param after an exclusive lower bound for the keys.
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
   * Signs a public URL for an object.
   * @param seconds requested lifetime; the URL never outlives the credentials that sign it.
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
