import type { AnnouncementCopy } from "../../../schemas/world-document.js";
import {
  changedAnnouncement,
  copiedAnnouncement,
  newAnnouncement,
} from "../../contract/announcements.js";
import { updatedAnnouncement } from "../../log/changes.js";
import { absent } from "../../rules/preconditions.js";
import type {
  Announcement,
  AnnouncementDraft,
} from "../../contract/announcements.js";
import { taken } from "../../copies/world-copies.js";
import type { Connection } from "../engine/connection.js";
import type { WriteLog } from "../log/log-writes.js";

const COLUMNS = "id, text, show_until, state";

/** The reads of announcements. */
export function announcementReads(db: Connection) {
  const select = db.prepare<[string], Announcement>(
    `SELECT ${COLUMNS} FROM announcements WHERE world_id = ? ORDER BY number`,
  );
  return { list: (worldId: string): Announcement[] => select.all(worldId) };
}

/** The writes of announcements. Each runs inside a transaction of its caller. */
export function announcementWrites(db: Connection, log: WriteLog) {
  const findWorld = db.prepare<[string]>("SELECT 1 FROM worlds WHERE id = ?");
  const exists = db.prepare("SELECT 1 FROM announcements WHERE id = ?");
  const select = db.prepare<[string, string], Announcement>(
    `SELECT ${COLUMNS} FROM announcements WHERE id = ? AND world_id = ?`,
  );
  const insert = db.prepare<Announcement & { world_id: string }>(
    `INSERT INTO announcements (${COLUMNS}, world_id)
     VALUES (@id, @text, @show_until, @state, @world_id)`,
  );
  const update = db.prepare<Announcement>(
    "UPDATE announcements SET text = @text, show_until = @show_until, state = @state WHERE id = @id",
  );

  return {
    createAnnouncement(
      worldId: string,
      draft: AnnouncementDraft,
    ): Announcement {
      if (!findWorld.get(worldId)) throw absent("world");
      const made = newAnnouncement(draft);
      insert.run({ ...made, world_id: worldId });
      log.append(worldId, {
        type: "announcement.created",
        announcement: made.id,
        wasVisible: false,
      });
      return made;
    },

    /**
     * Creates an announcement as it was copied.
     * @throws {StoreError} `taken` on `announcements`.
     */
    addAnnouncement(worldId: string, copy: AnnouncementCopy): void {
      if (exists.get(copy.id)) throw taken("announcements", copy.id);
      insert.run({ ...copiedAnnouncement(copy), world_id: worldId });
    },

    updateAnnouncement(
      worldId: string,
      id: string,
      changes: Partial<AnnouncementDraft>,
    ): { before: Announcement; after: Announcement } {
      const before = select.get(id, worldId);
      if (!before) throw absent("announcement");
      const after = changedAnnouncement(before, changes);
      update.run(after);
      log.append(worldId, updatedAnnouncement(before, after));
      return { before, after };
    },
  };
}
