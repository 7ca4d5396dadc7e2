import { randomUUID } from "node:crypto";
import type { AnnouncementCopy } from "../../schemas/documents/world-document.js";

/** The state of an announcement moves from draft to active, and then to archived. */
export type AnnouncementState = "draft" | "active" | "archived";

/** A message to all users in a world. */
export interface Announcement {
  id: string;
  text: string;
  /** The time until which the announcement is visible, in milliseconds since 1970; null for no end. */
  show_until: number | null;
  state: AnnouncementState;
}

/** A new announcement. By default, it is a draft and has no end. */
export interface AnnouncementInput {
  text: string;
  show_until?: number | null | undefined;
  state?: AnnouncementState | undefined;
}

/** The state that follows each state. */
const NEXT: Record<AnnouncementState, AnnouncementState | undefined> = {
  draft: "active",
  active: "archived",
  archived: undefined,
};

export const newAnnouncement = ({
  text,
  show_until = null,
  state = "draft",
}: AnnouncementInput): Announcement => ({ id: randomUUID(), text, show_until, state });

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

/** Returns the announcement that results from a change; see `AnnouncementStore.update`. */
export const changedAnnouncement = (
  before: Announcement,
  { text, show_until, state }: Partial<AnnouncementInput>,
): Announcement => ({
  id: before.id,
  text: text ?? before.text,
  show_until: show_until === undefined ? before.show_until : show_until,
  state: state && NEXT[before.state] === state ? state : before.state,
});
