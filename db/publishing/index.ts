import type { Events } from "../events.js";
import type { Store } from "../store.js";
import { chatEvents } from "./chat.js";
import { published } from "./published.js";
import { pollEvents, questionEvents } from "./votes.js";
import {
  announcementEvents,
  fileEvents,
  roomEvents,
  userEvents,
  worldEvents,
} from "./world.js";

/**
 * A store that publishes what every write did, after the commit and before the
 * promise of the write resolves. It is one event for most writes.
 */
export const publishing = (store: Store, events: Events): Store => ({
  ...store,
  worlds: published(store.worlds, worldEvents, events),
  rooms: published(store.rooms, roomEvents, events),
  users: published(store.users, userEvents, events),
  announcements: published(store.announcements, announcementEvents, events),
  chat: published(store.chat, chatEvents, events),
  questions: published(store.questions, questionEvents, events),
  polls: published(store.polls, pollEvents, events),
  files: published(store.files, fileEvents, events),
});
