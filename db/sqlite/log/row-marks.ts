import { Cache } from "../../cache.js";
import type { Position } from "../../log/log.js";
import type { Connection } from "../engine/connection.js";

/** Rows that an entry may concern: the world, its rooms and its issuers together, or its users. */
export type RowKind = "places" | "users";

/** How many entries one look reads. If there are more, any row may have changed. */
const MANY = 200;

/** How many worlds are remembered, in each of two generations. */
const WORLDS = 10_000;

/** What is known of the log of a world. */
interface Cursor extends Record<RowKind, number> {
  /** The last entry that was read, which is no chat event; zeros if there is none. */
  seq: number;
  tag: number;
  /** The state of the database in which it was read. */
  state: number;
}

/** Entries that concern neither places nor users. Any other type concerns what {@link concerns} says. */
const OTHERS =
  /^(announcement|chat|file|poll|program|question|session|speaker)\.|^noted$/;

/** Whether an entry may say that rows changed. A type that is new concerns all. */
const concerns = (type: string, kind: RowKind): boolean =>
  !OTHERS.test(type) && !type.startsWith(kind === "places" ? "user." : "room");

/**
 * Tells from the log of a world whether its rows may have changed: the log has an entry of every such
 * write, whichever process wrote it. Chat events have no row in the log, so messages cost
 * no more than one look.
 */
export class RowMarks {
  readonly #cursors = new Cache<Cursor>(2 * WORLDS);
  readonly #seqs;
  readonly #following;
  readonly #last;
  /** The last mark given. No mark is given twice, also not for a world that was forgotten. */
  #mark = 0;

  constructor(db: Connection) {
    // It reads the index alone, as most looks find nothing new.
    this.#seqs = db
      .prepare<[string, number], number>(
        "SELECT seq FROM log WHERE world_id = ? AND seq >= ? ORDER BY seq LIMIT 2",
      )
      .pluck();
    // As arrays: to name the fields of a row takes most of the time of such a read.
    this.#following = db
      .prepare<[string, number], [seq: number, tag: number, type: string]>(
        `SELECT seq, tag, type FROM log WHERE world_id = ? AND seq >= ? ORDER BY seq LIMIT ${MANY}`,
      )
      .raw();
    this.#last = db.prepare<[string], Position>(
      "SELECT seq, tag FROM log WHERE world_id = ? ORDER BY seq DESC LIMIT 1",
    );
  }

  /**
   * A number that is the same as before only if no row of this kind has changed in a world.
   * A login that has no entry changes `last_seen` and `last_login` all the same.
   * @param state the number of the state of the database that the present reads see.
   */
  of(world: string, kind: RowKind, state: number): number {
    let cursor = this.#cursors.get(world);
    if (!cursor) {
      cursor = { seq: 0, tag: 0, state, places: 0, users: 0 };
      this.#renew(world, cursor);
      this.#cursors.set(world, cursor, 1);
    } else if (cursor.state !== state) {
      this.#follow(world, cursor);
      cursor.state = state;
    }
    return cursor[kind];
  }

  /** Reads on, if there is more. The entry at the cursor is read again: without it, history is another. */
  #follow(world: string, cursor: Cursor): void {
    const seqs = this.#seqs.all(world, cursor.seq);
    const isEmpty = seqs.length === 0 && cursor.seq === 0;
    if (isEmpty || (seqs.length === 1 && seqs[0] === cursor.seq)) return;
    const [known, ...entries] = this.#following.all(world, cursor.seq);
    const isSame = known?.[0] === cursor.seq && known[1] === cursor.tag;
    if (!isSame || entries.length === MANY - 1) {
      return this.#renew(world, cursor);
    }
    for (const [seq, tag, type] of entries) {
      if (concerns(type, "places")) cursor.places = ++this.#mark;
      if (concerns(type, "users")) cursor.users = ++this.#mark;
      cursor.seq = seq;
      cursor.tag = tag;
    }
  }

  /** Goes to the end of the log. Every row may have changed. */
  #renew(world: string, cursor: Cursor): void {
    const { seq, tag } = this.#last.get(world) ?? { seq: 0, tag: 0 };
    const mark = ++this.#mark;
    Object.assign(cursor, { seq, tag, places: mark, users: mark });
  }
}
