import type { Delivery } from "../../contract/chat.js";
import { Draft, type Given } from "../../log/draft.js";
import { authorBeside, chatEntry, type Entry } from "../../log/entries.js";
import { type Author, userBy } from "../../contract/author.js";
import type { Hint, Position } from "../../log/log.js";
import type { Connection } from "../engine/connection.js";
import { blankOf } from "../erasure/scrub.js";

/** How {@link WriteLog} is made. */
interface WriteLogOptions {
  /** The author of writes that name none. */
  readonly author: Author;
  /** Is called before a transaction commits that has erased data of the log. */
  readonly erases: () => void;
}

/** The log of each world, as the writes of one transaction append to it. */
export class WriteLog {
  readonly #options: WriteLogOptions;
  readonly #headOf: (world: string) => Position;
  readonly #insert;
  readonly #saveHead;
  readonly #blank;
  #draft: Draft;
  /** The author that the present write names. */
  #by: Author | undefined;
  /** The worlds whose data the transaction erases. */
  readonly #erased = new Set<string>();

  constructor(db: Connection, options: WriteLogOptions) {
    this.#options = options;
    const selectHead = db.prepare<[string], Position>(
      "SELECT seq, tag FROM log_heads WHERE world_id = ?",
    );
    this.#headOf = (world) => selectHead.get(world) ?? { seq: 0, tag: 0 };
    this.#draft = new Draft(this.#headOf);
    // By position: by name, it would take twice the time.
    this.#insert = db.prepare<unknown[]>(
      `INSERT INTO log (world_id, seq, tag, at, type, author, detail, data)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#saveHead = db.prepare<Position & { world: string }>(
      `INSERT INTO log_heads (world_id, seq, tag) VALUES (@world, @seq, @tag)
       ON CONFLICT DO UPDATE SET seq = excluded.seq, tag = excluded.tag`,
    );
    this.#blank = db.prepare<[string]>(
      `UPDATE log SET data = ${blankOf("data")} WHERE world_id = ? AND typeof(data) = 'text'`,
    );
  }

  /** Begins with a transaction. */
  begin(): void {
    this.#draft = new Draft(this.#headOf);
    this.#erased.clear();
  }

  /** Runs a write of an author. If it fails, it has appended nothing. */
  during<T>(by: Author | undefined, write: () => T): T {
    const mark = this.#draft.mark();
    this.#by = by;
    try {
      return write();
    } catch (error) {
      this.#draft.back(mark);
      throw error;
    }
  }

  /** Runs something whose changes the caller undoes, so that it appends nothing. */
  withoutTrace<T>(trial: () => T): T {
    const mark = this.#draft.mark();
    try {
      return trial();
    } finally {
      this.#draft.back(mark);
    }
  }

  /** Appends an entry, by default by the author of the present write. */
  append(
    world: string,
    change: Given,
    by: Author = this.#by ?? this.#options.author,
  ): void {
    this.#draft.append(world, change, by);
  }

  /** Appends an entry about an action that only the user could take, such as a vote. */
  appendOf(world: string, user: string, change: Given): void {
    this.append(world, change, userBy(user, this.#by));
  }

  /** The number of the next entry of a world. */
  next(world: string): number {
    return this.#draft.next(world);
  }

  /** A tag for an event of chat. */
  newTag(): number {
    return this.#draft.newTag();
  }

  /** The author of an event of chat that is stored now: see {@link authorBeside}. */
  authorBeside(sender: string | null): string | null {
    return authorBeside(sender, this.#by);
  }

  /** Appends an event of chat that has the number that is next. */
  deliver(world: string, tag: number, delivery: Delivery): void {
    this.#draft.put(chatEntry(world, tag, delivery, this.#by));
  }

  /** The number for an event of imported chat. An entry has to follow. See {@link Draft.skip}. */
  skip(world: string): number {
    return this.#draft.skip(world, 1);
  }

  /** Erases all but the ids in the entries of a world. */
  erase(world: string): void {
    this.#erased.add(world);
  }

  /**
   * Stores the entries, at the end of the transaction.
   * @returns them in their order.
   */
  finish(): readonly Hint<Entry>[] {
    const hints = this.#draft.finish();
    for (const world of this.#erased) {
      if (this.#blank.run(world).changes > 0) this.#options.erases();
    }
    for (const row of this.#draft.rows()) {
      const { world_id, seq, tag, at, type, author, detail } = row;
      const data = this.#erased.has(world_id) ? null : row.data;
      this.#insert.run(world_id, seq, tag, at, type, author, detail, data);
    }
    for (const head of this.#draft.heads()) this.#saveHead.run(head);
    return hints;
  }
}
