import { StoreError } from "../../db/contract/store.js";
import {
  chatDenied,
  doubtful,
  invalidPayload,
  LiveError,
  roomDenied,
  tooLarge,
  unavailable,
  unknownEvent,
  unknownItem,
  unknownRoom,
  unknownUser,
  unknownWorld,
  worldDenied,
} from "../rules/problems.js";

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
