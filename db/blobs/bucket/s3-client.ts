import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { S3Client } from "@aws-sdk/client-s3";
import type { BucketOptions } from "../../choice.js";
import { StoreError } from "../../contract/store.js";

// Clients of a server that may be slow, gone, or hanging: everything has an end.

/** How long a connection may take to open. */
const CONNECT_TIMEOUT_MS = 2000;

/** How long a connection that sends a part of a file may be silent. */
const SILENCE_TIMEOUT_MS = 8000;

/** How many connections a process has at most for uploads and small requests, and for downloads. */
const MAX_WRITES = 256;
const MAX_READS = 2048;

const nothing = () => {};
const silent = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing };

/**
 * A client of the server that has the bucket. Credentials are read from the
 * environment, or wherever else the AWS tools look.
 * @param maxSockets how many connections it may have.
 * @param silence after how many milliseconds a silent connection ends; 0 for never.
 */
function clientOf(
  { endpoint, region, forcePathStyle }: BucketOptions,
  maxSockets: number,
  silence: number,
): S3Client {
  // The version is pinned, so advice to upgrade Node.js for later ones is noise.
  process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true";
  return new S3Client({
    region,
    forcePathStyle,
    ...(endpoint !== undefined && { endpoint }),
    maxAttempts: 2,
    // Many compatible servers refuse checksums that they do not know.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    // Some compatible servers never answer it.
    expectContinueHeader: false,
    // It would log requests with their signatures.
    logger: silent,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: silence,
      httpAgent: new HttpAgent({ keepAlive: true, maxSockets }),
      httpsAgent: new HttpsAgent({ keepAlive: true, maxSockets }),
      logger: silent,
    },
  });
}

export const writingClient = (options: BucketOptions): S3Client =>
  clientOf(options, MAX_WRITES, SILENCE_TIMEOUT_MS);

/**
 * For downloads. A browser may stop reading a video for minutes, so their connections
 * may be silent, and their number must not hold up uploads.
 */
export const readingClient = (options: BucketOptions): S3Client => clientOf(options, MAX_READS, 0);

/** The errors of the client: an answer with a status, or an error of the network. */
interface ClientError {
  name?: string;
  message?: string;
  code?: string;
  $metadata?: { httpStatusCode?: number };
}

/** The status of the answer that was an error; undefined if there was no answer. */
export const statusOf = (error: unknown): number | undefined =>
  (error as ClientError).$metadata?.httpStatusCode;

/** Codes of S3 and of compatible servers that have no room left. */
const FULL = new Set([
  "InsufficientCapacity",
  "InsufficientStorage",
  "NotEnoughSpace",
  "QuotaExceeded",
  "XMinioStorageFull",
]);

const EXPLAINED: Record<string, string> = {
  AccessDenied: "it denies access",
  InvalidAccessKeyId: "it does not know the access key; see AWS_ACCESS_KEY_ID",
  NoSuchBucket: "there is no such bucket",
  SignatureDoesNotMatch: "the secret access key is wrong; see AWS_SECRET_ACCESS_KEY",
};

/**
 * An error of the client as one line. It has only the code of the server: the message may
 * repeat the request with its signature.
 */
export function toStoreError({ bucket, endpoint }: BucketOptions, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const { name = "", message = "", code } = error as ClientError;
  const status = statusOf(error);
  const full = FULL.has(name) || status === 507;
  const reason =
    EXPLAINED[name] ??
    (status !== undefined
      ? `it answers ${status} ${name}`
      : name === "AbortError" || name === "TimeoutError"
        ? "it does not answer in time"
        : message.split("\n", 1)[0] || (code ?? name));
  const server = endpoint === undefined ? "" : ` at ${new URL(endpoint).host}`;
  // Without an answer, the address may be wrong.
  const advice = server && status === undefined ? "; see S3_ENDPOINT" : "";
  return new StoreError(
    full ? "full" : "unusable",
    `S3_BUCKET: cannot use the bucket ${bucket}${server}: ${reason}${advice}`,
  );
}
