import type { components } from "../../../client/api.js";
import { t, type Key } from "../../i18n/index.js";

type Entry = components["schemas"]["AuditEntry"];

/** What entries are about: the beginnings of their types. */
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
  "results.exported": "history.resultsExported",
};

const moderated: Readonly<Record<string, Key>> = {
  banned: "history.userBanned",
  silenced: "history.userSilenced",
  none: "history.userReactivated",
  "": "history.userReactivated",
};

/** What was done, in words; a type without words is shown as it is. */
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
