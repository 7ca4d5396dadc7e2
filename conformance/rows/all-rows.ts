import type { Rows } from "../row.js";
import { announcementRows } from "./announcements.js";
import { callRows } from "./calls.js";
import { captionRows } from "./captions.js";
import { chatRows } from "./chat.js";
import { eventRows } from "./events.js";
import { moderationRows } from "./moderation.js";
import { pollRows } from "./polls.js";
import { programRows } from "./program.js";
import { questionRows } from "./questions.js";
import { roomRows } from "./rooms.js";
import { screenRows } from "./screens.js";
import { userRows } from "./users.js";
import { worldRows } from "./world.js";

/** All rows of the suite, by name. */
export const rows: Rows = {
  ...userRows,
  ...worldRows,
  ...roomRows,
  ...announcementRows,
  ...chatRows,
  ...moderationRows,
  ...questionRows,
  ...pollRows,
  ...programRows,
  ...callRows,
  ...screenRows,
  ...captionRows,
  ...eventRows,
};
