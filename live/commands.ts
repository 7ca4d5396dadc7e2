import type { CommandName } from "../schemas/live/index.js";
import type { CommandTable, Sender } from "./module.js";
import { announcements } from "./modules/announcements/commands.js";
import { chat } from "./modules/chat/commands.js";
import { sharedMessages } from "./modules/chat/messages.js";
import { pollList, polls } from "./modules/items/polls/commands.js";
import { questionList, questions } from "./modules/items/questions/commands.js";
import { program } from "./modules/program/commands.js";
import { rooms } from "./modules/rooms/commands.js";
import { invites } from "./modules/rooms/invites.js";
import { users } from "./modules/users/commands.js";
import { kiosks } from "./modules/users/kiosks.js";
import { moderation } from "./modules/users/moderation.js";
import { webPush } from "./modules/users/web-push.js";
import { world } from "./modules/world/commands.js";
import { records } from "./modules/world/records.js";

/** Every command, with its requirements. */
export const commands = {
  ...users,
  ...kiosks,
  ...webPush,
  ...world,
  ...records,
  ...rooms,
  ...invites,
  ...announcements,
  ...chat,
  ...questions,
  ...polls,
  ...program,
};

/** The commands that calls over HTTP carry out, too. */
export const sharedCommands = {
  ...announcements,
  ...moderation,
  ...sharedMessages,
  ...questionList,
  ...pollList,
} satisfies Partial<CommandTable<CommandName, never, Sender>>;

export type SharedCommand = keyof typeof sharedCommands;
