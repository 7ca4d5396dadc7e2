import type { Webhook } from "../../db/contract/webhooks.js";
import type { Outbound } from "../outbound/outbound.js";
import { OutboundError } from "../outbound/refusals.js";
import { type Message, signed } from "./message.js";

/** How long a try may take, in milliseconds. */
export const PATIENCE = 15_000;

/** How much of an answer is read. */
const MAX_ANSWER = 64 * 1024;

/** How a try ended. */
export interface Try {
  /** The status of the answer; null without one. */
  readonly status: number | null;
  /** Why it failed; null if it did not. */
  readonly error: string | null;
}

/** Sends a message to a receiver, once. */
export async function send(
  outbound: Outbound,
  { url, secret }: Pick<Webhook, "url" | "secret">,
  message: Message,
): Promise<Try> {
  try {
    const { status } = await outbound.send({
      ...{ url, method: "POST", ...signed(message, secret) },
      ...{ timeout: PATIENCE, maxBytes: MAX_ANSWER, drops: true },
    });
    const isTaken = status >= 200 && status < 300;
    return { status, error: isTaken ? null : `status_${status}` };
  } catch (error) {
    if (error instanceof OutboundError) {
      return { status: null, error: error.code };
    }
    throw error;
  }
}
