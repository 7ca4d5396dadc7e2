import type { Act } from "../contract/audit-store.js";
import type { ChatEvent } from "../contract/chat-store.js";

/** The entry of the log that says no more than that an act was done. */
export const noted = ({ type: act, subject, changes = [] }: Act) => ({
  type: "noted" as const,
  act,
  subject,
  changes,
});

/** A moderator deleted the message of another user. @param sender of the message. */
export const moderatedMessage = (
  { channel, replaces }: Pick<ChatEvent, "channel" | "replaces">,
  sender: string | null,
): Act => ({
  type: "chat.deleted",
  subject: { room_id: channel, channel_id: channel, event_id: replaces, user_id: sender },
});

/**
 * Tokens were signed. The audit has their traits, and neither a token nor a name.
 * @param number how many.
 */
export const tokenCreated = (traits: readonly string[], number = 1): Act => ({
  type: "token.created",
  subject: {},
  changes: [
    { field: "traits", before: null, after: traits },
    ...(number === 1 ? [] : [{ field: "number", before: null, after: number }]),
  ],
});

/** A room got a link for people without a name, or keeps it for longer. */
export const inviteMade = (room: string): Act => ({
  type: "invite.created",
  subject: { room_id: room },
});

/** The link of a room for people without a name has ended. */
export const inviteEnded = (room: string): Act => ({
  type: "invite.ended",
  subject: { room_id: room },
});

export const kioskCreated = (user: string): Act => ({
  type: "kiosk.created",
  subject: { user_id: user },
});

export const kioskToken = (user: string): Act => ({
  type: "token.created",
  subject: { user_id: user },
});

/** What is left of an event was sent. @param kind such as `chat`. */
export const resultsExported = (kind: string, format: string, room?: string): Act => ({
  type: "results.exported",
  subject: { kind, format, ...(room !== undefined && { room_id: room }) },
});
