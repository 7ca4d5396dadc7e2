import type { LiveProblem } from "../../schemas/live/index.js";

/**
 * A call failed, or the connection ended. `code` is the server's, or one of the
 * client's own:
 *
 * - `client.closed`: `close()` was called.
 * - `client.disconnected`: the connection broke while the call was under way. The server
 *   may or may not have executed it.
 * - `client.unreachable`: there is no connection. Nothing was sent.
 * - `client.timeout`: no answer came in time. The server may still execute the call.
 * - `client.overloaded`: too many calls are open. Nothing was sent.
 * - `client.canceled`: the program gave up a message before it was sent.
 * - `client.unconfirmed`: an earlier visit sent a message, and ended before the answer.
 * - `client.invalid_frame`: the server sent a frame outside the protocol.
 */
export class LiveError extends Error {
  /**
   * @param code the reason, as a word for programs.
   * @param message the reason, as a sentence; the code if the server gave none.
   * @param details the messages about submitted data by field, in dotted paths.
   * @param options.cause why the connection broke, if that is the reason.
   */
  constructor(
    readonly code: string,
    message = code,
    readonly details: Readonly<Record<string, readonly string[]>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = "LiveError";
  }
}

/** An error as the server reports it. */
export const errorOf = ({ code, message, details }: LiveProblem): LiveError =>
  new LiveError(code, message, details);

type ClientReason =
  | "closed"
  | "disconnected"
  | "unreachable"
  | "timeout"
  | "canceled"
  | "overloaded"
  | "unconfirmed"
  | "invalid_frame";

/** An error of the client itself. */
export const clientError = (reason: ClientReason, message: string, cause?: unknown): LiveError =>
  new LiveError(`client.${reason}`, message, {}, cause === undefined ? {} : { cause });
