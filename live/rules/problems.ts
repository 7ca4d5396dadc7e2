import { StoreError } from "../../db/contract/store.js";
import { EngineUnavailable } from "../../plugins/calls/engine.js";
import { Stackless } from "../../plugins/stackless.js";
import type { Faults } from "../../schemas/errors.js";
import type { LiveErrorCode } from "../../schemas/live/errors.js";
import type { LiveProblem } from "../../schemas/live/index.js";
import type { ClosedPhase } from "../../schemas/plain/access.js";
import { lengthOf } from "../../schemas/plain/texts.js";

/** The error messages sent along with error codes. A code that is not listed has no message. */
const ERROR_TEXTS: Readonly<Partial<Record<LiveErrorCode, string>>> = {
  "world.unknown_world": "Unknown world ID",
  "protocol.invalid_payload": "Invalid data.",
  "protocol.rate_limited": "Too many commands. Slow down.",
  "protocol.denied": "Permission denied.",
  "auth.denied": "Permission denied.",
  "auth.approval": "A moderator decides whether to let you in.",
  "auth.network_banned": "New guests from your network can't join at the moment.",
  "auth.too_many_guests": "Too many new guests come from this network. Try again in a minute.",
  "connection.replaced": "Connection replaced",
  "server.unavailable": "Try again later.",
  "server.doubtful": "The outcome is unknown. Check before you repeat it.",
  "server.too_large": "The answer is too large.",
  "server.fatal": "Fatal Server Error",
  "user.not_found": "Unknown user ID",
  "user.ban.self": "You cannot do this to yourself.",
  "user.silence.self": "You cannot do this to yourself.",
  "user.reactivate.self": "You cannot do this to yourself.",
  "user.delete.self": "You cannot do this to yourself.",
  "user.block.self": "You cannot do this to yourself.",
  "user.unblock.self": "You cannot do this to yourself.",
  "profile.name_taken": "This name belongs to a member of the team.",
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
  "chat.unsupported_content_type": "The channel does not accept content of this type.",
  "chat.invalid_body": "Invalid message body.",
  "chat.slow_mode": "You may write again in a moment.",
  "chat.blocked_word": "Your text has a word that may not be used here.",
  "channel.join.missing_profile": "Your profile needs a display name.",
  "emoji.sadpanda": "The reaction must be one emoji.",
  "question.unknown": "Unknown question ID",
  "question.named": "Questions in this room show who asked.",
  "poll.unknown": "Unknown poll ID",
  "poll.closed": "A quiz opens only once.",
  "report.unknown": "There is nothing to report here.",
  "program.unknown": "Unknown session ID",
  "program.not_on": "The session has not begun, or has long ended.",
  "call.unavailable": "The server for calls does not answer.",
  "call.missing_profile": "Your profile needs a display name.",
  "call.full": "The call is full.",
  "call.unknown": "There is no call here.",
  "call.not_on_stage": "This person is not on the stage.",
  "bbb.join.missing_profile": "Your profile needs a display name.",
};

/** Error codes for commands that a module does not have. */
type UnsupportedCode = `${string}.unsupported_command`;

/** A refused command. The connection stays open. */
export class LiveError extends Stackless {
  /**
   * @param message defaults to the code's message. Pass a message only if it carries a value or is
   * more precise than the code. If the message is empty, the client receives only the code.
   */
  constructor(
    readonly code: LiveErrorCode | UnsupportedCode,
    message: string = ERROR_TEXTS[code as LiveErrorCode] ?? "",
    readonly details?: Faults,
    /** After how many seconds the command may succeed, if that is known. */
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}

/** The body of an error frame. */
export const problemOf = ({ code, message, details, retryAfter }: LiveError): LiveProblem => ({
  code,
  ...(message && { message }),
  ...(details && { details }),
  ...(retryAfter !== undefined && { retry_after: retryAfter }),
});

export const worldDenied = () => new LiveError("auth.denied");
/** The error for a denied login. The client receives only the code. */
export const loginDenied = () => new LiveError("auth.denied", "");
/** @param explains whether the client is sent the reason, as clients that logged in with `changes` are. */
export const banned = (explains: boolean) =>
  explains
    ? new LiveError("auth.denied", "A moderator banned you.", { moderation_state: ["banned"] })
    : loginDenied();
/** The error for people whom the event's phase keeps out. */
export const closedBy = (phase: ClosedPhase) =>
  new LiveError("auth.denied", "", { access: [phase] });
export const roomDenied = () => new LiveError("protocol.denied");
export const unknownRoom = () => new LiveError("room.unknown");
export const unknownUser = () => new LiveError("user.not_found");
/** @param type the type of the module that the room lacks. */
export const noSuchModule = (type: string) =>
  type.startsWith("call.")
    ? new LiveError("call.unknown")
    : new LiveError("room.unknown", "Room does not contain a matching module.");
export const chatDenied = () => new LiveError("chat.denied");
export const unknownEvent = () => new LiveError("chat.unknown_event");
export const unknownItem = (kind: "question" | "poll") => new LiveError(`${kind}.unknown`);
export const unknownReport = () => new LiveError("report.unknown");
export const unknownWorld = () => new LiveError("world.unknown_world");
export const rateLimited = () => new LiveError("protocol.rate_limited");
export const tooLarge = () => new LiveError("server.too_large");

/** The error for a payload that does not match its schema. */
export const invalidPayload = (
  details: Faults,
  code: "protocol.invalid_payload" | "config.invalid" = "protocol.invalid_payload",
) => new LiveError(code, undefined, details);

/** The error for a command that the server cannot run now. */
export const unavailable = () => new LiveError("server.unavailable");

/** The error for a command that the server may or may not have completed. */
export const doubtful = () => new LiveError("server.doubtful");

/**
 * Checks the lengths of text fields written by users.
 * @param maxText maximum length of a field, in characters.
 * @param texts the values by field path; undefined for omitted fields.
 * @throws {LiveError} `protocol.invalid_payload`, with each field that is too long.
 */
export function requireShort(maxText: number, texts: Record<string, string | undefined>): void {
  const long = Object.entries(texts).filter(([, text = ""]) => lengthOf(text) > maxText);
  if (long.length === 0) return;
  const fault = [`Must be at most ${maxText} characters.`];
  throw invalidPayload(Object.fromEntries(long.map(([field]) => [field, fault])));
}

/**
 * Returns the error to send for a message that failed.
 * @param action the command in the message.
 * @returns undefined for an unexpected error.
 */
export function liveErrorOf(error: unknown, action: unknown): LiveError | undefined {
  if (error instanceof LiveError) return error;
  if (error instanceof EngineUnavailable) return new LiveError("call.unavailable", error.message);
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
      // A login is always safe to retry.
      return action === "authenticate" ? unavailable() : doubtful();
    case "large":
      return tooLarge();
    case "denied":
      if (field === "network") return new LiveError("auth.network_banned");
      if (field === "session_id") return invalidPayload({ [field]: [message] });
      if (field === "state") return new LiveError("poll.closed", message);
      if (field && /^(?:poll_type|options|settings(?:\..*)?)$/.test(field)) {
        return invalidPayload({ [field]: [message] });
      }
      if (field === "poll") return new LiveError("poll.vote", message);
      // A user who has been silenced since the command began receives the same error as if the
      // command's checks had failed.
      return isOfRoom(action) ? roomDenied() : chatDenied();
    case "quota":
      if (field === "options" || field === "lang") return invalidPayload({ [field]: [message] });
      if (field === "slow_mode") return tooSoon(message);
      if (field === "reports" || field === "held")
        return new LiveError("protocol.rate_limited", message);
      if (field === "hands" || field === "stage") return new LiveError("call.full", message);
      return field === "reactions"
        ? new LiveError("chat.reaction_limit", message)
        : new LiveError("user.block.limit", message);
    default:
      return undefined;
  }
}

/** The error for a person who writes too soon in slow mode. @param seconds those that are left. */
const tooSoon = (seconds: string) =>
  new LiveError("chat.slow_mode", undefined, { retry_after: [seconds] }, Number(seconds));

/**
 * Returns the error for an absent record: a record that was deleted between two steps of a command,
 * or a poll option in the payload that does not exist.
 */
function absentOf({ field, message }: StoreError, action: unknown): LiveError {
  switch (field) {
    case "room":
      return unknownRoom();
    case "event":
      return unknownEvent();
    case "question":
    case "poll":
      return unknownItem(field);
    case "report":
      return unknownReport();
    case "option":
      return invalidPayload({ options: [message] });
    case "user":
      // The only user involved in a question or a poll is the caller.
      return isOfRoom(action) ? worldDenied() : unknownUser();
    default:
      return unknownWorld();
  }
}

/** Whether a command is about something in a room other than its chat. */
const isOfRoom = (action: unknown): boolean =>
  typeof action === "string" && /^(?:question|poll|call|hand|room)\./.test(action);
