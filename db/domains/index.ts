import { announcements } from "./announcements.js";
import { attendance } from "./attendance.js";
import { audit } from "./audit.js";
import { calls } from "./calls.js";
import { captions } from "./captions.js";
import { chat } from "./chat/chat.js";
import { copies } from "./copies/copies.js";
import { files } from "./files.js";
import type { Bound } from "./domain.js";
import { invitations } from "./invitations.js";
import { invites } from "./invites.js";
import { mails } from "./mails.js";
import { passkeys } from "./passkeys.js";
import { polls } from "./polls.js";
import { program, programLinks } from "./program/program.js";
import { push } from "./push.js";
import { ratings } from "./ratings.js";
import { questions } from "./questions.js";
import { screens } from "./screens.js";
import { reports } from "./reports.js";
import { rooms } from "./rooms/rooms.js";
import { users } from "./users/users.js";
import { webhooks } from "./webhooks.js";
import { worlds } from "./worlds/worlds.js";

/** The domains that both engines bind, by their name in the store. */
export const domains = {
  announcements,
  attendance,
  audit,
  calls,
  captions,
  chat,
  copies,
  files,
  invitations,
  invites,
  mails,
  passkeys,
  polls,
  program,
  programLinks,
  push,
  questions,
  ratings,
  reports,
  rooms,
  screens,
  users,
  webhooks,
  worlds,
};

/** The qualified name of a write, such as `announcements.create`. */
export type DomainWrite = {
  [Name in keyof typeof domains]: `${Name}.${keyof (typeof domains)[Name]["parameters"] & string}`;
}[keyof typeof domains];

// Domains that define their own part of the `Store` interface. For all other domains, db/contract/
// declares the interface, next to the rules that the domain shares with its callers.
declare module "../contract/store.js" {
  interface Store {
    /** What is spoken in rooms, as text. */
    readonly captions: Bound<typeof captions>;
    /** Anonymous invite links to rooms, at most one link per room. */
    readonly invites: Bound<typeof invites>;
    /** The queue of mails, and links by e-mail. */
    readonly mails: Bound<typeof mails>;
    /** The passkeys by which people sign in. */
    readonly passkeys: Bound<typeof passkeys>;
    /** What the screens of rooms show. */
    readonly screens: Bound<typeof screens>;
    /** What people think of sessions: one rating of a person for each session. */
    readonly ratings: Bound<typeof ratings>;
    /** What people report to the moderators. */
    readonly reports: Bound<typeof reports>;
  }
}
