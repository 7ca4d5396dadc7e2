import type { Rows } from "../row.js";
import { announcementRows } from "./announcements.js";
import { chatRows } from "./chat.js";
import { eventRows } from "./events.js";
import { pollRows } from "./polls.js";
import { programRows } from "./program.js";
import { questionRows } from "./questions.js";
import { roomRows } from "./rooms.js";
import { userRows } from "./users.js";
import { worldRows } from "./world.js";

/** All rows. */
export const rows: Rows = {
  ...userRows,
  ...worldRows,
  ...roomRows,
  ...announcementRows,
  ...chatRows,
  ...questionRows,
  ...pollRows,
  ...programRows,
  ...eventRows,
};
