import { announcements } from "./modules/announcements/commands.js";
import { chat } from "./modules/chat/commands.js";
import { polls } from "./modules/items/polls/commands.js";
import { questions } from "./modules/items/questions/commands.js";
import { rooms } from "./modules/rooms/commands.js";
import { users } from "./modules/users/commands.js";
import { world } from "./modules/world/commands.js";

/** Every command, with its requirements. */
export const commands = {
  ...users,
  ...world,
  ...rooms,
  ...announcements,
  ...chat,
  ...questions,
  ...polls,
};
