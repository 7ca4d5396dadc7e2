import type { AnnouncementCopy } from "../../../schemas/world-document.js";
import {
  changedAnnouncement,
  copiedAnnouncement,
  newAnnouncement,
} from "../../contract/announcements.js";
import { updatedAnnouncement } from "../../log/changes.js";
import { absent } from "../../rules/preconditions.js";
import { type AnnouncementStore, StoreError } from "../../contract/store.js";
import type { Announcement } from "../../contract/announcements.js";
import type { Database } from "../engine/database.js";
import type { Sql } from "../engine/sql.js";

const COLUMNS = "id, text, show_until, state";

const SELECT_ALL = `SELECT ${COLUMNS} FROM announcements WHERE world_id = $1 ORDER BY number`;

const SELECT = `SELECT ${COLUMNS} FROM announcements WHERE world_id = $1 AND id = $2`;

const INSERT = `INSERT INTO announcements (world_id, ${COLUMNS})
  SELECT id, $2, $3, $4::bigint, $5 FROM worlds WHERE id = $1`;

const UPDATE =
  "UPDATE announcements SET text = $3, show_until = $4, state = $5 WHERE world_id = $1 AND id = $2";

const SELECT_TAKEN = "SELECT id FROM announcements WHERE id = ANY ($1) LIMIT 1";

const ADD = `INSERT INTO announcements (world_id, ${COLUMNS})
  SELECT $1, id, text, show_until, state
  FROM unnest($2::text[], $3::text[], $4::bigint[], $5::text[]) WITH ORDINALITY
    AS given (id, text, show_until, state, place)
  ORDER BY place`;

/** The announcements in a PostgreSQL database. */
export function announcementStore(db: Database): AnnouncementStore {
  const lists = db.caches.announcements.reads<readonly Announcement[]>();

  return {
    list: (world) =>
      lists.read(world, world, async () => {
        const value = await db.sql.all<Announcement>(SELECT_ALL, [world]);
        return { value, size: sizeOf(value) };
      }),

    create: (world, draft, by) =>
      db.write(
        world,
        async (sql, log) => {
          const made = newAnnouncement(draft);
          const { id, text, show_until, state } = made;
          const params = [world, id, text, show_until, state];
          if ((await sql.run(INSERT, params)) === 0) throw absent("world");
          log.append({
            type: "announcement.created",
            announcement: id,
            wasVisible: false,
          });
          return made;
        },
        by,
      ),

    update: (world, id, changes, by) =>
      db.write(
        world,
        async (sql, log) => {
          const before = await sql.one<Announcement>(SELECT, [world, id]);
          if (!before) throw absent("announcement");
          const after = changedAnnouncement(before, changes);
          const { text, show_until, state } = after;
          await sql.run(UPDATE, [world, id, text, show_until, state]);
          log.append(updatedAnnouncement(before, after));
          return { before, after };
        },
        by,
      ),
  };
}

const sizeOf = (list: readonly Announcement[]): number =>
  list.reduce((sum, { text }) => sum + 200 + text.length, 0);

/**
 * Creates announcements as they were copied.
 * @throws {StoreError} `taken` on `announcements`.
 */
export async function addAnnouncements(
  sql: Sql,
  world: string,
  copies: readonly AnnouncementCopy[],
): Promise<void> {
  const ids = copies.map(({ id }) => id);
  const taken = await sql.value<string>(SELECT_TAKEN, [ids]);
  if (taken !== undefined || new Set(ids).size < ids.length) {
    throw new StoreError(
      "taken",
      "The id of an announcement is taken.",
      "announcements",
    );
  }
  const added = copies.map(copiedAnnouncement);
  await sql.run(ADD, [
    world,
    ids,
    added.map(({ text }) => text),
    added.map(({ show_until }) => show_until),
    added.map(({ state }) => state),
  ]);
}
