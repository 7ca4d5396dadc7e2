import { StoreError } from "../../db/contract/store.js";
import { Stackless } from "../../plugins/stackless.js";
import type { Faults } from "../../schemas/errors.js";
import type { LiveErrorCode } from "../../schemas/live/errors.js";
import type { LiveProblem } from "../../schemas/live/index.js";
import { lengthOf } from "../../schemas/plain/texts.js";

/** What clients read beside a code. A code that is not here has no text. */
const TEXTS: Readonly<Partial<Record<LiveErrorCode, string>>> = {
  "world.unknown_world": "Unknown world ID",
  "protocol.invalid_payload": "Invalid data.",
  "protocol.rate_limited": "Too many commands. Slow down.",
  "protocol.denied": "Permission denied.",
  "auth.denied": "Permission denied.",
  "auth.too_many_guests": "Too many new guests come from this network. Try again in a minute.",
  "connection.replaced": "Connection replaced",
  "server.unavailable": "Try again later.",
  "server.doubtful": "Look whether it was done.",
  "server.too_large": "The answer is too large.",
  "server.fatal": "Fatal Server Error",
  "user.not_found": "Unknown user ID",
  "user.ban.self": "Not for yourself.",
  "user.silence.self": "Not for yourself.",
  "user.reactivate.self": "Not for yourself.",
  "user.delete.self": "Not for yourself.",
  "user.block.self": "Not for yourself.",
  "user.unblock.self": "Not for yourself.",
  "config.invalid": "Invalid data.",
  "config.changed": "The settings have changed.",
  "room.unknown": "Unknown room ID",
  "room.unknown_reaction": "Unknown reaction",
  "room.unknown_schedule_data": "Unknown schedule data",
  "room.invalid.denied": "You may not create a room of this type.",
  "room.invalid.name_taken": "This room name is already taken.",
  "announcement.unknown": "Unknown announcement ID",
  "chat.unknown": "Unknown channel ID",
  "chat.unknown_event": "Unknown event ID",
  "chat.denied": "Permission denied.",
  "chat.empty": "The message is empty.",
  "chat.unsupported_event_type": "Only messages can be sent.",
  "chat.unsupported_content_type": "The channel takes no content of this type.",
  "chat.invalid_body": "Invalid message body.",
  "channel.join.missing_profile": "Your profile needs a display name.",
  "emoji.sadpanda": "The reaction must be one emoji.",
  "question.unknown": "Unknown question ID",
  "question.named": "Questions in this room show who asked.",
  "poll.unknown": "Unknown poll ID",
  "program.unknown": "Unknown session ID",
};

/** The codes of commands that no module has. */
type UnsupportedCode = `${string}.unsupported_command`;

/** A refused command. The connection stays open. */
export class LiveError extends Stackless {
  /**
   * @param message by default the text of the code. Pass one only if it carries a value or is more
   *   exact than the code; with an empty one, the client gets the code alone.
   */
  constructor(
    readonly code: LiveErrorCode | UnsupportedCode,
    message: string = TEXTS[code as LiveErrorCode] ?? "",
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

export const worldDenied = () => new LiveError("auth.denied");
/** A denied login: the client gets the code alone. */
export const loginDenied = () => new LiveError("auth.denied", "");
/** @param explains whether the client learns the reason: clients that ask for changes do. */
export const banned = (explains: boolean) =>
  explains
    ? new LiveError("auth.denied", "A moderator banned you.", { moderation_state: ["banned"] })
    : loginDenied();
export const roomDenied = () => new LiveError("protocol.denied");
export const unknownRoom = () => new LiveError("room.unknown");
export const unknownUser = () => new LiveError("user.not_found");
export const noSuchModule = () =>
  new LiveError("room.unknown", "Room does not contain a matching module.");
export const chatDenied = () => new LiveError("chat.denied");
export const unknownEvent = () => new LiveError("chat.unknown_event");
export const unknownItem = (kind: "question" | "poll") => new LiveError(`${kind}.unknown`);
export const unknownWorld = () => new LiveError("world.unknown_world");
export const rateLimited = () => new LiveError("protocol.rate_limited");
export const tooLarge = () => new LiveError("server.too_large");

/** A payload that does not match its schema. */
export const invalidPayload = (
  details: Faults,
  code: "protocol.invalid_payload" | "config.invalid" = "protocol.invalid_payload",
) => new LiveError(code, undefined, details);

/** The server cannot do it now. */
export const unavailable = () => new LiveError("server.unavailable");

/** The server may or may not have done it. */
export const doubtful = () => new LiveError("server.doubtful");

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
