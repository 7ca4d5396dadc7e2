import { StoreError } from "../../db/contract/store.js";
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

/**
 * The error of a message that failed.
 * @param action the command of the message.
 * @returns undefined for an unexpected fault.
 */
export function liveErrorOf(error: unknown, action: unknown): LiveError | undefined {
  if (error instanceof LiveError) return error;
  if (!(error instanceof StoreError)) return undefined;
  const { problem, field, message } = error;
  switch (problem) {
    case "absent":
      return absentOf(error, action);
    case "changed":
    case "busy":
    case "full":
      return unavailable();
    case "doubtful":
      // A login may be repeated in any case.
      return action === "authenticate" ? unavailable() : doubtful();
    case "large":
      return tooLarge();
    case "denied":
      if (field === "poll_type") return invalidPayload({ [field]: [message] });
      if (field === "poll") return new LiveError("poll.vote", message);
      // A user who was silenced since the command began gets the answer of its checks.
      return isOfVotes(action) ? roomDenied() : chatDenied();
    case "quota":
      if (field === "options") return invalidPayload({ options: [message] });
      return field === "reactions"
        ? new LiveError("chat.reaction_limit", message)
        : new LiveError("user.block.limit", message);
    default:
      return undefined;
  }
}

/** An absent record was deleted between two steps of a command, or is an option in the payload. */
function absentOf({ field, message }: StoreError, action: unknown): LiveError {
  switch (field) {
    case "room":
      return unknownRoom();
    case "event":
      return unknownEvent();
    case "question":
    case "poll":
      return unknownItem(field);
    case "option":
      return invalidPayload({ options: [message] });
    case "user":
      // The only user of a question or a poll is the caller.
      return isOfVotes(action) ? worldDenied() : unknownUser();
    default:
      return unknownWorld();
  }
}

/** Whether a command is about a question or a poll. */
const isOfVotes = (action: unknown): boolean =>
  typeof action === "string" && /^(?:question|poll)\./.test(action);
