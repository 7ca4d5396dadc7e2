import type { Announcement } from "../../contract/announcements.js";
import type { AnnouncementStore } from "../../contract/store.js";
import type { Database } from "../engine/database.js";

/** Announcements of which lists are cached, as every user who enters a world reads one. */
export function cachedAnnouncements(
  db: Database,
  announcements: AnnouncementStore,
): AnnouncementStore {
  const lists = db.caches.announcements.reads<readonly Announcement[]>();
  return {
    ...announcements,
    list: (world) =>
      lists.read(world, world, async () => {
        const value = await announcements.list(world);
        return { value, size: sizeOf(value) };
      }),
  };
}

const sizeOf = (list: readonly Announcement[]): number =>
  list.reduce((sum, { text }) => sum + 200 + text.length, 0);
