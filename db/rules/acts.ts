import type { AuditAct } from "../contract/audit-store.js";
import type { ChatEvent } from "../contract/chat-store.js";

/** Builds a log entry that only records an action. */
export const noted = ({ type: act, subject, changes = [] }: AuditAct) => ({
  type: "noted" as const,
  act,
  subject,
  changes,
});

/** Returns the audit action for deleting another user's message. @param sender the message's sender. */
export const moderatedMessage = (
  { channel, replaces }: Pick<ChatEvent, "channel" | "replaces">,
  sender: string | null,
): AuditAct => ({
  type: "chat.deleted",
  subject: { room_id: channel, channel_id: channel, event_id: replaces, user_id: sender },
});

/** Returns the audit action for approving a message that waited. @param event the event that it became. */
export const approvedMessage = (channel: string, event: number, sender: string): AuditAct => ({
  type: "chat.approved",
  subject: { room_id: channel, channel_id: channel, event_id: event, user_id: sender },
});

/** Returns the audit action for rejecting a message that waited. */
export const rejectedMessage = (channel: string, sender: string): AuditAct => ({
  type: "chat.rejected",
  subject: { room_id: channel, channel_id: channel, user_id: sender },
});

/**
 * Returns the audit action for signing tokens. The audit records the tokens' traits, but neither
 * the tokens nor any names.
 * @param number the number of tokens.
 */
export const tokenCreated = (traits: readonly string[], number = 1): AuditAct => ({
  type: "token.created",
  subject: {},
  changes: [
    { field: "traits", before: null, after: traits },
    ...(number === 1 ? [] : [{ field: "number", before: null, after: number }]),
  ],
});

/** Returns the audit action for creating or extending an invite link that admits anonymous people to a room. */
export const inviteMade = (room: string): AuditAct => ({
  type: "invite.created",
  subject: { room_id: room },
});

/** Returns the audit action for ending the invite link that admits anonymous people to a room. */
export const inviteEnded = (room: string): AuditAct => ({
  type: "invite.ended",
  subject: { room_id: room },
});

/** Returns the audit action for adding a passkey to a user. */
export const passkeyAdded = (user: string): AuditAct => ({
  type: "passkey.created",
  subject: { user_id: user },
});

/** Returns the audit action for removing a user's passkey. */
export const passkeyRemoved = (user: string): AuditAct => ({
  type: "passkey.deleted",
  subject: { user_id: user },
});

export const kioskCreated = (user: string): AuditAct => ({
  type: "kiosk.created",
  subject: { user_id: user },
});

export const kioskToken = (user: string): AuditAct => ({
  type: "token.created",
  subject: { user_id: user },
});

/** Returns the audit action for exporting results. @param kind the kind of results, such as `chat`. */
export const resultsExported = (kind: string, format: string, room?: string): AuditAct => ({
  type: "results.exported",
  subject: { kind, format, ...(room !== undefined && { room_id: room }) },
});
