import { t, type Key } from "../../i18n/index.js";
import type { Entry } from "../../state/history.js";

/** The kinds of entries: the prefixes of their types. */
export const kinds = [
  "world",
  "room",
  "user",
  "announcement",
  "file",
  "session",
  "speaker",
  "chat",
  "question",
  "poll",
  "report",
  "webhook",
  "token",
  "results",
] as const;

const known: Readonly<Record<string, Key>> = {
  "world.updated": "history.worldUpdated",
  "world.exported": "history.worldExported",
  "room.created": "history.roomCreated",
  "room.updated": "history.roomUpdated",
  "room.deleted": "history.roomDeleted",
  "rooms.reordered": "history.roomsReordered",
  "user.moderated": "history.userModerated",
  "user.erased": "history.userErased",
  "user.updated": "history.userUpdated",
  "user.admin_updated": "history.userUpdated",
  "announcement.created": "history.announced",
  "announcement.updated": "history.announcementUpdated",
  "file.deleted": "history.fileDeleted",
  "session.created": "history.sessionCreated",
  "session.updated": "history.sessionUpdated",
  "session.deleted": "history.sessionDeleted",
  "speaker.created": "history.speakerCreated",
  "speaker.updated": "history.speakerUpdated",
  "speaker.deleted": "history.speakerDeleted",
  "chat.deleted": "history.messageDeleted",
  "chat.approved": "history.messageApproved",
  "chat.rejected": "history.messageRejected",
  "report.created": "history.reported",
  "report.resolved": "history.reportResolved",
  "question.updated": "history.questionUpdated",
  "question.deleted": "history.questionDeleted",
  "poll.created": "history.pollCreated",
  "poll.updated": "history.pollUpdated",
  "poll.deleted": "history.pollDeleted",
  "webhook.created": "history.webhookCreated",
  "webhook.updated": "history.webhookUpdated",
  "webhook.deleted": "history.webhookDeleted",
  "token.created": "history.tokenCreated",
  "invite.created": "history.inviteCreated",
  "invite.ended": "history.inviteEnded",
  "kiosk.created": "history.kioskCreated",
  "mail.queued": "history.mailQueued",
  "passkey.created": "history.passkeyCreated",
  "passkey.deleted": "history.passkeyDeleted",
  "results.exported": "history.resultsExported",
};

const moderated: Readonly<Record<string, Key>> = {
  banned: "history.userBanned",
  silenced: "history.userSilenced",
  none: "history.userReactivated",
  "": "history.userReactivated",
};

/** Describes an entry's action. Types without a translation are shown unchanged. */
export function actOf({ type, changes }: Entry): string {
  const after = changes.find(({ field }) => field === "state")?.after;
  const key =
    type === "user.moderated" && Object.hasOwn(moderated, String(after))
      ? moderated[String(after)]
      : Object.hasOwn(known, type)
        ? known[type]
        : undefined;
  return key ? t(key) : type;
}
