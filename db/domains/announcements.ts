import {
  type Announcement,
  type AnnouncementInput,
  changedAnnouncement,
  newAnnouncement,
} from "../contract/announcement-store.js";
import { createdAnnouncement, updatedAnnouncement } from "../log/changes.js";
import { absent, changed } from "../rules/preconditions.js";
import { domain, type DomainLog, type Sql } from "./domain.js";

const COLUMNS = "id, text, show_until, state";

const LIST = `SELECT ${COLUMNS} FROM announcements WHERE world_id = $1 ORDER BY number`;

const GET = `SELECT ${COLUMNS} FROM announcements WHERE world_id = $1 AND id = $2`;

// Inserts nothing if the world does not exist.
const INSERT = `INSERT INTO announcements (world_id, ${COLUMNS})
  SELECT id, $2, $3, CAST($4 AS BIGINT), $5 FROM worlds WHERE id = $1`;

const UPDATE = `UPDATE announcements SET text = $3, show_until = $4, state = $5
  WHERE world_id = $1 AND id = $2`;

export const announcementReads = (sql: Sql) => ({
  list: (world: string): Promise<readonly Announcement[]> => sql.all<Announcement>(LIST, [world]),
});

export const announcementWrites = (sql: Sql, log: DomainLog) => ({
  async create(world: string, draft: AnnouncementInput): Promise<Announcement> {
    const made = newAnnouncement(draft);
    const { id, text, show_until, state } = made;
    const params = [world, id, text, show_until, state];
    if ((await sql.run(INSERT, params)) === 0) throw absent("world");
    log.append(world, createdAnnouncement(made));
    return made;
  },

  async update(
    world: string,
    id: string,
    changes: Partial<AnnouncementInput>,
    seen?: Announcement,
  ): Promise<{ before: Announcement; after: Announcement }> {
    const before = await sql.one<Announcement>(GET, [world, id]);
    if (!before) throw absent("announcement");
    if (seen && !isSame(before, seen)) throw changed();
    const after = changedAnnouncement(before, changes);
    const { text, show_until, state } = after;
    await sql.run(UPDATE, [world, id, text, show_until, state]);
    log.append(world, updatedAnnouncement(before, after));
    return { before, after };
  },
});

const isSame = (one: Announcement, other: Announcement): boolean =>
  one.text === other.text && one.show_until === other.show_until && one.state === other.state;

export const announcements = domain({
  reads: announcementReads,
  writes: announcementWrites,
  parameters: { create: 2, update: 4 },
});
