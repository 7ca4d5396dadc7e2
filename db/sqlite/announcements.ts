import { randomUUID } from "node:crypto";
import type { AnnouncementCopy } from "../../schemas/world-document.js";
import {
  type Announcement,
  type AnnouncementDraft,
  type AnnouncementState,
  StoreError,
} from "../store.js";
import type { Connection } from "./database.js";
import { absent } from "./preconditions.js";

const COLUMNS = "id, text, show_until, state";

/** The state that follows each. */
const NEXT: Record<AnnouncementState, AnnouncementState | undefined> = {
  draft: "active",
  active: "archived",
  archived: undefined,
};

/** The reads of announcements. */
export function announcementReads(db: Connection) {
  const select = db.prepare<[string], Announcement>(
    `SELECT ${COLUMNS} FROM announcements WHERE world_id = ? ORDER BY number`,
  );
  return { list: (worldId: string): Announcement[] => select.all(worldId) };
}

/** The writes of announcements. Each runs inside a transaction of its caller. */
export function announcementWrites(db: Connection) {
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
      { text, show_until = null, state = "draft" }: AnnouncementDraft,
    ): Announcement {
      if (!findWorld.get(worldId)) throw absent("world");
      const made = { id: randomUUID(), text, show_until, state };
      insert.run({ ...made, world_id: worldId });
      return made;
    },

    /**
     * Creates an announcement as it was copied.
     * @throws {StoreError} `taken` on `announcements`.
     */
    addAnnouncement(
      worldId: string,
      { id, text, show_until, state }: AnnouncementCopy,
    ): void {
      if (exists.get(id)) {
        throw new StoreError(
          "taken",
          `The id ${id} of an announcement is taken.`,
          "announcements",
        );
      }
      insert.run({
        id,
        text,
        show_until: show_until === null ? null : Date.parse(show_until),
        state,
        world_id: worldId,
      });
    },

    updateAnnouncement(
      worldId: string,
      id: string,
      { text, show_until, state }: Partial<AnnouncementDraft>,
    ): { before: Announcement; after: Announcement } {
      const before = select.get(id, worldId);
      if (!before) throw absent("announcement");
      const after = {
        id,
        text: text ?? before.text,
        show_until: show_until === undefined ? before.show_until : show_until,
        state: state && NEXT[before.state] === state ? state : before.state,
      };
      update.run(after);
      return { before, after };
    },
  };
}
