import { randomUUID } from "node:crypto";
import type { AnnouncementCopy } from "../../schemas/world-document.js";
import type {
  Announcement,
  AnnouncementDraft,
  AnnouncementState,
} from "./store.js";

/** The state that follows each. */
const NEXT: Record<AnnouncementState, AnnouncementState | undefined> = {
  draft: "active",
  active: "archived",
  archived: undefined,
};

/** A new announcement, with a new id. */
export const newAnnouncement = ({
  text,
  show_until = null,
  state = "draft",
}: AnnouncementDraft): Announcement => ({
  id: randomUUID(),
  text,
  show_until,
  state,
});

/** The announcement in a document. */
export const copiedAnnouncement = ({
  id,
  text,
  show_until,
  state,
}: AnnouncementCopy): Announcement => ({
  id,
  text,
  show_until: show_until === null ? null : Date.parse(show_until),
  state,
});

/** An announcement after a change; see `AnnouncementStore.update`. */
export const changedAnnouncement = (
  before: Announcement,
  { text, show_until, state }: Partial<AnnouncementDraft>,
): Announcement => ({
  id: before.id,
  text: text ?? before.text,
  show_until: show_until === undefined ? before.show_until : show_until,
  state: state && NEXT[before.state] === state ? state : before.state,
});
