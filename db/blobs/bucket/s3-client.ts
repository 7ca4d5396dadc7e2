import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { S3Client } from "@aws-sdk/client-s3";
import type { BucketOptions } from "../../choice.js";
import { StoreError } from "../../contract/store.js";

// The server may be slow, unreachable, or hanging, so every operation has a timeout.

const CONNECT_TIMEOUT_MS = 2000;

/** Idle timeout of a connection that uploads part of a file. */
const SILENCE_TIMEOUT_MS = 8000;

/**
 * Maximum numbers of connections per process: `MAX_WRITES` for uploads and small requests,
 * `MAX_READS` for downloads.
 */
const MAX_WRITES = 256;
const MAX_READS = 2048;

const nothing = () => {};
const silent = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing };

/**
 * Creates a client for the bucket's server. Credentials are read from the environment, or from the
 * other sources that AWS tools support.
 * @param maxSockets the maximum number of connections.
 * @param silence idle timeout of a connection, in milliseconds; 0 for none.
 */
function clientOf(
  { endpoint, region, forcePathStyle }: BucketOptions,
  maxSockets: number,
  silence: number,
): S3Client {
  // The SDK version is pinned, so the advice to upgrade Node.js for later SDK releases is noise.
  process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true";
  return new S3Client({
    region,
    forcePathStyle,
    ...(endpoint !== undefined && { endpoint }),
    maxAttempts: 2,
    // Many S3-compatible servers reject checksum algorithms that they do not support.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    // Some S3-compatible servers never respond to `Expect: 100-continue`.
    expectContinueHeader: false,
    // The default logger logs requests, including their signatures.
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
 * Creates a client for downloads. Its connections may stay idle, because a browser can pause a
 * video for minutes. A separate pool keeps downloads from starving uploads.
 */
export const readingClient = (options: BucketOptions): S3Client => clientOf(options, MAX_READS, 0);

/** An error thrown by the client. It has a status if the server responded; otherwise it is a network error. */
interface ClientError {
  name?: string;
  message?: string;
  code?: string;
  $metadata?: { httpStatusCode?: number };
}

/** Returns the status of an error response, or undefined if there was no response. */
export const statusOf = (error: unknown): number | undefined =>
  (error as ClientError).$metadata?.httpStatusCode;

/** Error codes with which S3 and compatible servers report that they are out of space. */
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
 * Converts a client error to a {@link StoreError} with a one-line message. If the server responded,
 * the message includes only the server's error code, because the full response may echo the request
 * and its signature.
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
  // The endpoint may be wrong if there was no response.
  const advice = server && status === undefined ? "; see S3_ENDPOINT" : "";
  return new StoreError(
    full ? "full" : "unusable",
    `S3_BUCKET: cannot use the bucket ${bucket}${server}: ${reason}${advice}`,
  );
}
