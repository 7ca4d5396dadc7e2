import { Readable } from "node:stream";
import type {
  PutObjectCommand,
  PutObjectCommandInput,
  S3Client,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { malformed } from "./listing.js";

/** The size of the parts of an upload, in bytes; S3 takes no smaller ones. */
const PART = 5 * 1024 * 1024;

/**
 * Stores a stream as an object that appears when it is complete. The parts of a failed
 * upload are left.
 * @throws what the client throws first.
 */
export async function upload(
  client: S3Client,
  object: Omit<PutObjectCommandInput, "Body">,
  source: AsyncIterable<Uint8Array>,
): Promise<void> {
  const ending = new AbortController();
  const { signal: abortSignal } = ending;
  let failure: unknown;
  // The library neither cancels its requests, nor ends because one of them failed.
  const send = async (command: PutObjectCommand): Promise<unknown> => {
    try {
      return await client.send(command, { abortSignal });
    } catch (error) {
      failure ??= error;
      ending.abort();
      throw error;
    }
  };
  const body = Readable.from(source, { objectMode: false });
  const parts = new Upload({
    client: Object.create(client, { send: { value: send } }) as S3Client,
    params: { ...object, Body: body },
    partSize: PART,
    queueSize: 2,
    leavePartsOnError: true,
    abortController: ending,
  });
  try {
    // Every S3 server names the stored object.
    if (!(await parts.done()).ETag) throw malformed();
  } catch (error) {
    ending.abort();
    throw failure ?? error;
  } finally {
    body.destroy();
  }
}
