import { createHmac, randomBytes } from "node:crypto";

// Standard Webhooks: https://github.com/standard-webhooks/standard-webhooks

const PREFIX = "whsec_";

/** Generates a secret. */
export const newSecret = (): string => PREFIX + randomBytes(32).toString("base64");

/** A message to a receiver. */
export interface WebhookMessage {
  /** The message's id, which is the same for every try, so that receivers can drop duplicates. */
  readonly id: string;
  readonly type: string;
  /** The time of the change, in milliseconds since 1970. */
  readonly at: number;
  /** JSON. */
  readonly data: string;
}

/**
 * Returns a message's body and signed headers.
 * @param now in milliseconds since 1970.
 */
export function signed(
  { id, type, at, data }: WebhookMessage,
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
