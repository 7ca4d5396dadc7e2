import { randomUUID } from "node:crypto";
import type { AnnouncementCopy } from "../../schemas/documents/world-document.js";

/** An announcement changes its state from a draft to active, and then to archived. */
export type AnnouncementState = "draft" | "active" | "archived";

/** A message to all users of a world. */
export interface Announcement {
  id: string;
  text: string;
  /** Until when it is visible, in milliseconds since 1970; null for ever. */
  show_until: number | null;
  state: AnnouncementState;
}

/** A new announcement: by default a draft without an end. */
export interface AnnouncementDraft {
  text: string;
  show_until?: number | null | undefined;
  state?: AnnouncementState | undefined;
}

/** The state that follows each. */
const NEXT: Record<AnnouncementState, AnnouncementState | undefined> = {
  draft: "active",
  active: "archived",
  archived: undefined,
};

export const newAnnouncement = ({
  text,
  show_until = null,
  state = "draft",
}: AnnouncementDraft): Announcement => ({ id: randomUUID(), text, show_until, state });

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
