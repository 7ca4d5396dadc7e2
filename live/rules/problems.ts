import { Stackless } from "../../plugins/stackless.js";
import type { Faults } from "../../schemas/errors.js";
import type { LiveProblem } from "../../schemas/live/index.js";
import { lengthOf } from "../../schemas/plain/texts.js";

/** A command that is refused. The connection stays open. */
export class LiveError extends Stackless {
  constructor(
    readonly code: string,
    message = "",
    readonly details?: Faults,
  ) {
    super(message);
  }
}

/** The body of an error frame. */
export const problemOf = ({ code, message, details }: LiveError): LiveProblem => ({
  code,
  ...(message && { message }),
  ...(details && { details }),
});

const DENIED = "Permission denied.";

export const worldDenied = () => new LiveError("auth.denied", DENIED);
/** @param says whether the client learns the reason: those that ask for changes do. */
export const banned = (says: boolean) =>
  says
    ? new LiveError("auth.denied", "A moderator banned you.", { moderation_state: ["banned"] })
    : new LiveError("auth.denied");
export const roomDenied = () => new LiveError("protocol.denied", DENIED);
export const unknownRoom = () => new LiveError("room.unknown", "Unknown room ID");
export const unknownUser = () => new LiveError("user.not_found", "Unknown user ID");
export const noSuchModule = () =>
  new LiveError("room.unknown", "Room does not contain a matching module.");
export const chatDenied = () => new LiveError("chat.denied", DENIED);
export const unknownEvent = () => new LiveError("chat.unknown_event", "Unknown event ID");
export const unknownItem = (kind: "question" | "poll") =>
  new LiveError(`${kind}.unknown`, `Unknown ${kind} ID`);
export const unknownWorld = () => new LiveError("world.unknown_world", "Unknown world ID");
export const rateLimited = () =>
  new LiveError("protocol.rate_limited", "Too many commands. Slow down.");
export const tooLarge = () => new LiveError("server.too_large", "The answer is too large.");

/** A payload that does not match its schema. */
export const invalidPayload = (details: Faults, code = "protocol.invalid_payload") =>
  new LiveError(code, "Invalid data.", details);

/** The server cannot do it now. */
export const unavailable = () => new LiveError("server.unavailable", "Try again later.");

/** The server may or may not have done it. */
export const doubtful = () => new LiveError("server.doubtful", "Look whether it was done.");

/**
 * Checks the lengths of user texts.
 * @param maxText the longest allowed text, in characters.
 * @param texts by the path of their field; undefined for omitted ones.
 * @throws {LiveError} `protocol.invalid_payload`, with each field that is too long.
 */
export function requireShort(maxText: number, texts: Record<string, string | undefined>): void {
  const long = Object.entries(texts).filter(([, text = ""]) => lengthOf(text) > maxText);
  if (long.length === 0) return;
  const fault = [`Must be at most ${maxText} characters.`];
  throw invalidPayload(Object.fromEntries(long.map(([field]) => [field, fault])));
}
