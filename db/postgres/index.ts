import type { Store } from "../contract/store.js";
import { cachedAnnouncements } from "./worlds/cached-announcements.js";
import { boundDomains } from "./engine/domains.js";
import { ChatChores } from "./chat/chat-chores.js";
import { chatStore } from "./chat/chat.js";
import { programStore } from "../shared/program/index.js";
import { counts } from "./inspection/counts.js";
import type { Database } from "./engine/database.js";
import { logStore } from "./log/log-store.js";
import { roomStore } from "./rooms/rooms.js";
import { userStore } from "./users/users.js";
import { postgresCopies } from "./copies/world-copies.js";
import { worldStore } from "./worlds/worlds.js";

/**
 * The store in a PostgreSQL database. Worlds, rooms and users are cached
 * for as long as the store is sure to get changes; all else is read each time.
 */
export function postgresStore(db: Database): Store {
  const chores = new ChatChores(db);
  const domains = boundDomains(db);
  return {
    worlds: { ...worldStore(db), ...postgresCopies(db) },
    rooms: roomStore(db),
    users: userStore(db),
    ...domains,
    program: programStore(domains.program),
    announcements: cachedAnnouncements(db, domains.announcements),
    chat: chatStore(db),
    log: logStore(db),
    counts: () => counts(db, Math.max(db.erasureAge, chores.age())),
    async close() {
      await chores.close();
      await db.close();
    },
  };
}
