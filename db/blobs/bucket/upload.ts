import { Readable } from "node:stream";
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { malformed } from "./listing.js";

/** The size of an upload's parts, in bytes: the minimum that S3 accepts. */
const PART = 5 * 1024 * 1024;

/** Maximum number of parts in flight while the next part is read. */
const SENDING = 2;

/**
 * Stores a stream as an object that becomes visible only once it is complete. Does not remove the
 * parts of a failed upload.
 * @throws the first error from the client or the source.
 */
export async function upload(
  client: S3Client,
  object: Omit<PutObjectCommandInput, "Body">,
  source: AsyncIterable<Uint8Array>,
): Promise<void> {
  const ending = new AbortController();
  const { signal } = ending;
  const failed = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error));
  });
  // The first error aborts all other requests.
  const send = ((command: PutObjectCommand) =>
    client.send(command, { abortSignal: signal }).catch((error: unknown) => {
      ending.abort(error);
      throw error;
    })) as S3Client["send"];
  const body = Readable.from(source, { objectMode: false });
  try {
    // Fail fast instead of waiting for the source, which may be slow.
    const stored = store(send, object, partsOf(body));
    const { ETag } = await Promise.race([stored, failed]);
    // Every S3 server returns the ETag of a stored object.
    if (!ETag) throw malformed();
  } catch (error) {
    ending.abort(error);
    throw signal.reason;
  } finally {
    body.destroy();
  }
}

interface Stored {
  ETag?: string | undefined;
}

async function store(
  send: S3Client["send"],
  object: Omit<PutObjectCommandInput, "Body">,
  parts: AsyncGenerator<Buffer, undefined>,
): Promise<Stored> {
  const Body = (await parts.next()).value ?? Buffer.alloc(0);
  return Body.length < PART
    ? send(new PutObjectCommand({ ...object, Body }))
    : storeInParts(send, object, Body, parts);
}

async function storeInParts(
  send: S3Client["send"],
  object: Omit<PutObjectCommandInput, "Body">,
  first: Buffer,
  others: AsyncIterable<Buffer>,
): Promise<Stored> {
  const { UploadId } = await send(new CreateMultipartUploadCommand(object));
  const { Bucket, Key } = object;
  const upload = { Bucket, Key, UploadId };
  const sent: Promise<{ PartNumber: number; ETag: string | undefined }>[] = [];
  const sendPart = (Body: Buffer) => {
    const PartNumber = sent.length + 1;
    const part = new UploadPartCommand({ ...upload, PartNumber, Body });
    const answer = send(part).then(({ ETag }) => ({ PartNumber, ETag }));
    // The error has already aborted the upload, so ignore it here.
    answer.catch(() => {});
    sent.push(answer);
  };
  sendPart(first);
  try {
    for await (const part of others) {
      await sent.at(-SENDING);
      sendPart(part);
    }
  } catch (error) {
    // Wait: a part that arrives after the upload has been aborted would remain in the bucket.
    await Promise.allSettled(sent);
    throw error;
  }
  const MultipartUpload = { Parts: await Promise.all(sent) };
  return send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload }));
}

/**
 * Splits a stream into parts of equal size, except for the last part, which may be smaller. An
 * empty stream yields no parts.
 */
async function* partsOf(body: Readable): AsyncGenerator<Buffer, undefined> {
  let chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    while (size >= PART) {
      const whole = Buffer.concat(chunks);
      yield whole.subarray(0, PART);
      chunks = [whole.subarray(PART)];
      size -= PART;
    }
  }
  if (size > 0) yield Buffer.concat(chunks);
}
