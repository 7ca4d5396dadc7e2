import { createHmac, randomBytes } from "node:crypto";

// Standard Webhooks: https://github.com/standard-webhooks/standard-webhooks

const PREFIX = "whsec_";

/** A new secret. */
export const newSecret = (): string => PREFIX + randomBytes(32).toString("base64");

/** A message to a receiver. */
export interface Message {
  /** The same for every try. */
  readonly id: string;
  readonly type: string;
  /** When it happened, in milliseconds since 1970. */
  readonly at: number;
  /** JSON. */
  readonly data: string;
}

/**
 * The body and the headers of a message.
 * @param now in milliseconds since 1970.
 */
export function signed(
  { id, type, at, data }: Message,
  secret: string,
  now = Date.now(),
): { body: string; headers: Record<string, string> } {
  const head = JSON.stringify({ type, timestamp: new Date(at).toISOString() });
  const body = `${head.slice(0, -1)},"data":${data}}`;
  const timestamp = String(Math.floor(now / 1000));
  const key = Buffer.from(secret.slice(PREFIX.length), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return {
    body,
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,${signature}`,
    },
  };
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The delays after the first failures of an entry, in milliseconds. The last one repeats. */
const DELAYS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR];

/** A webhook that has failed for so long is disabled, in milliseconds. */
const GIVES_UP = 3 * 24 * HOUR;

/**
 * After how many tries it may be. The clock may be set by days, and the server may have been off
 * for as long: neither is the receiver's fault.
 */
const FEWEST_TRIES = DELAYS.length + 1;

/**
 * Whether a webhook has failed for so long that it is disabled.
 * @param duration since its first failure, in milliseconds.
 * @param attempts how often it has failed.
 */
export const givesUp = (duration: number, attempts: number): boolean =>
  duration >= GIVES_UP && attempts >= FEWEST_TRIES;

/**
 * How long to wait before an entry is sent again, in milliseconds.
 * @param attempts how often it has failed.
 */
export const delayAfter = (attempts: number, random = Math.random): number =>
  DELAYS[Math.min(attempts, DELAYS.length) - 1]! * (1 + random() / 5);
