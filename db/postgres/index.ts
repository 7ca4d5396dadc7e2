import type { Store } from "../store.js";
import { announcementStore } from "./announcements.js";
import { ChatChores } from "./chat-chores.js";
import { chatStore } from "./chat.js";
import { counts } from "./counts.js";
import type { Database } from "./database.js";
import { fileRecords } from "./files.js";
import { logStore } from "./log-store.js";
import { pollStore } from "./polls.js";
import { questionStore } from "./questions.js";
import { roomStore } from "./rooms.js";
import { userStore } from "./users.js";
import { worldCopies } from "./world-copies.js";
import { worldStore } from "./worlds.js";

/**
 * The store in a PostgreSQL database. What it reads of worlds and rooms is cached for as
 * long as it is sure to learn of changes; all else is read anew each time.
 */
export function postgresStore(db: Database): Store {
  const chores = new ChatChores(db);
  return {
    worlds: { ...worldStore(db), ...worldCopies(db) },
    rooms: roomStore(db),
    users: userStore(db),
    files: fileRecords(db),
    announcements: announcementStore(db),
    chat: chatStore(db),
    questions: questionStore(db),
    polls: pollStore(db),
    log: logStore(db),
    counts: () => counts(db),
    async close() {
      await chores.close();
      await db.close();
    },
  };
}
