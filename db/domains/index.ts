import { announcements } from "./announcements.js";
import { attendance } from "./attendance.js";
import { audit } from "./audit.js";
import { chat } from "./chat/chat.js";
import { copies } from "./copies/copies.js";
import { files } from "./files.js";
import { invites } from "./invites.js";
import { polls } from "./polls.js";
import { program, programLinks } from "./program/program.js";
import { push } from "./push.js";
import { questions } from "./questions.js";
import { rooms } from "./rooms/rooms.js";
import { users } from "./users/users.js";
import { webhooks } from "./webhooks.js";
import { worlds } from "./worlds/worlds.js";

/** The domains that both engines bind, by their names in the store. */
export const domains = {
  announcements,
  attendance,
  audit,
  chat,
  copies,
  files,
  invites,
  polls,
  program,
  programLinks,
  push,
  questions,
  rooms,
  users,
  webhooks,
  worlds,
};

/** The name of a write among the writes of all domains, such as `announcements.create`. */
export type DomainWrite = {
  [Name in keyof typeof domains]: `${Name}.${keyof (typeof domains)[Name]["parameters"] & string}`;
}[keyof typeof domains];
