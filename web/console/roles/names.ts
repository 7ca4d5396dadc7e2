import { t, type Key } from "../../i18n/index.js";
import type { Role } from "../../state/roles.js";

const known: Readonly<Record<string, Key>> = {
  attendee: "roles.attendee",
  speaker: "roles.speaker",
  moderator: "roles.moderator",
  admin: "roles.host",
};

const about: Readonly<Record<string, Key>> = {
  attendee: "roles.attendeeText",
  speaker: "roles.speakerText",
  moderator: "roles.moderatorText",
  admin: "roles.hostText",
};

/** The name of a role, in the organizer's words, or else in the language in use. */
export function roleName({ trait, title }: Role): string {
  if (title !== undefined) return title;
  if (trait === null) return t("roles.guest");
  const key = Object.hasOwn(known, trait) ? known[trait] : undefined;
  return key ? t(key) : trait;
}

/** What a role is for. */
export function roleText({ trait, title, description }: Role): string {
  if (description !== undefined) return description;
  if (title !== undefined) return "";
  if (trait === null) return t("roles.guestText");
  const key = Object.hasOwn(about, trait) ? about[trait] : undefined;
  return key ? t(key) : "";
}
