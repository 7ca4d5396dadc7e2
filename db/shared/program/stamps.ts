import { randomUUID } from "node:crypto";
import { NO_ROOM, type Place, UNNAMED } from "../../contract/program.js";
import type { Session } from "../../../schemas/program.js";
import type { Sql } from "../sql.js";

// Versions of programs follow from stamps: random texts that are renewed with each change. So no
// version comes back, and the same rows give the same versions on every server.

const TOUCH = `INSERT INTO programs (world_id, stamp, settings) VALUES ($1, $2, '')
  ON CONFLICT (world_id) DO UPDATE SET stamp = excluded.stamp`;

const TOUCH_RULES = `UPDATE programs SET stamp = $2, settings = $2
  WHERE world_id = $1 AND EXISTS (SELECT 1 FROM program_places WHERE world_id = $1)`;

const TOUCH_DATES = `INSERT INTO programs (world_id, stamp, settings) VALUES ($1, $2, $2)
  ON CONFLICT (world_id) DO UPDATE SET stamp = excluded.stamp, settings = excluded.settings`;

const TOUCH_SHOWN = `INSERT INTO program_places (world_id, place, shown, changed) VALUES ($1, $2, $3, $3)
  ON CONFLICT (world_id, place) DO UPDATE SET shown = excluded.shown, changed = excluded.changed`;

const TOUCH_DRAFTS = `INSERT INTO program_places (world_id, place, shown, changed) VALUES ($1, $2, '', $3)
  ON CONFLICT (world_id, place) DO UPDATE SET changed = excluded.changed`;

/** A session as far as its place depends on it. */
type Placed = Pick<Session, "room_id" | "state">;

/** The places at which a write changes a program. */
export class Changes {
  /** By place, whether readers without `program.update` see the change. */
  readonly #places = new Map<Place, boolean>();

  /** A session appears, changes, or goes. */
  session({ room_id, state }: Placed): void {
    const place = room_id ?? NO_ROOM;
    const isShown = this.#places.get(place) || state === "public";
    this.#places.set(place, isShown);
  }

  /** A speaker appears, changes, or goes. @param sessions that name the speaker. */
  speaker(sessions: Iterable<Placed>): void {
    if (!this.#places.has(UNNAMED)) this.#places.set(UNNAMED, false);
    for (const session of sessions) this.session(session);
  }

  /** A place appears or goes that everybody may see. */
  place(place: Place): void {
    this.#places.set(place, true);
  }

  /** Renews the stamps of these places. */
  async store(sql: Sql, world: string): Promise<void> {
    const stamp = randomUUID();
    await sql.run(TOUCH, [world, stamp]);
    for (const [place, isShown] of this.#places) {
      const statement = isShown ? TOUCH_SHOWN : TOUCH_DRAFTS;
      await sql.run(statement, [world, place, stamp]);
    }
  }
}

/** The rules of a world or of a room changed: others may see its program now, if it has had one. */
export async function rulesChanged(sql: Sql, world: string): Promise<void> {
  await sql.run(TOUCH_RULES, [world, randomUUID()]);
}

/** The dates of the event changed. */
export async function datesChanged(sql: Sql, world: string): Promise<void> {
  await sql.run(TOUCH_DATES, [world, randomUUID()]);
}

const LEAVE_ROOM = `UPDATE program_sessions SET room_id = NULL, revision = revision + 1
  WHERE world_id = $1 AND room_id = $2`;

const REMOVE_PLACE =
  "DELETE FROM program_places WHERE world_id = $1 AND place = $2";

/** A room was deleted: its sessions have none now. */
export async function roomDeleted(
  sql: Sql,
  world: string,
  room: string,
): Promise<void> {
  await sql.run(LEAVE_ROOM, [world, room]);
  if ((await sql.run(REMOVE_PLACE, [world, room])) === 0) return;
  const changes = new Changes();
  changes.place(NO_ROOM);
  await changes.store(sql, world);
}
