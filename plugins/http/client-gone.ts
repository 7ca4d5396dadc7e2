import type { ServerResponse } from "node:http";

/** A signal that aborts when a response was sent, or its client is gone. */
export function clientGone(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once("close", () => controller.abort());
  return controller.signal;
}
