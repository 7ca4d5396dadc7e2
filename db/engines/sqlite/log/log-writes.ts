import type { Database as Connection } from "better-sqlite3";
import { type Author, userBy } from "../../../contract/author.js";
import type { Delivery } from "../../../contract/chat-store.js";
import { CALLER_SEEN } from "../../../domains/audit.js";
import type { DomainLog, EngineWrites } from "../../../domains/domain.js";
import { WAL } from "../../../erasure/erasure-job.js";
import { type Caller, Draft, type Given } from "../../../log/draft.js";
import {
  authorBeside,
  besideDetail,
  chatEntry,
  type Entry,
  type EntryRow,
  type Hint,
  INDEX,
  LOG_COLUMNS,
  type Position,
  UNAUDITED,
} from "../../../log/entries.js";
import { moderatedMessage, noted } from "../../../rules/acts.js";
import { type EventRow, MEMBER, MESSAGE, toDeliveries } from "../../../rules/chat-rows.js";
import { blankAudit, blankOf, isErasedTable } from "../erasure/scrub.js";

interface WriteLogOptions {
  /** The author of writes that name none. */
  readonly author: Author;
  readonly audits: boolean;
  /** Whether erased bytes have to leave the files of the database. */
  readonly hasFiles: boolean;
}

/** The log of each world, as the writes of one transaction append to it. */
export class WriteLog implements DomainLog {
  readonly #options: WriteLogOptions;
  readonly #headOf: (world: string) => Position;
  readonly #insert;
  readonly #saveHead;
  readonly #blank;
  readonly #blankAudit;
  readonly #hasWorld: (world: string) => boolean;
  readonly #insertCaller;
  #draft: Draft;
  /** The author that the present write names. */
  #by: Author | undefined;
  /** The worlds whose data the transaction erases. */
  readonly #erased = new Set<string>();
  readonly #insertErasure;
  /** The subjects of its erasures: see {@link isErasedTable} and {@link WAL}. */
  readonly #subjects = new Set<string>();

  constructor(db: Connection, options: WriteLogOptions) {
    this.#options = options;
    const selectHead = db.prepare<[string], Position>(
      "SELECT seq, tag FROM log_heads WHERE world_id = ?",
    );
    this.#headOf = (world) => selectHead.get(world) ?? { seq: 0, tag: 0 };
    this.#draft = this.#newDraft();
    this.#insert = insertion(db, "log", LOG_COLUMNS);
    this.#saveHead = db.prepare<Position & { world: string }>(
      `INSERT INTO log_heads (world_id, seq, tag) VALUES (@world, @seq, @tag)
       ON CONFLICT DO UPDATE SET seq = excluded.seq, tag = excluded.tag`,
    );
    const hasWorld = db.prepare<[string]>("SELECT 1 FROM worlds WHERE id = ?");
    this.#hasWorld = (world) => hasWorld.get(world) !== undefined;
    this.#insertCaller = db.prepare<Caller>(
      `INSERT INTO api_callers (world_id, token, token_id, at)
       SELECT id, @token, @token_id, @at FROM worlds WHERE id = @world_id
       ${CALLER_SEEN}`,
    );
    this.#insertErasure = db.prepare<[string, number]>(
      "INSERT INTO erasures (subject, at) VALUES (?, ?)",
    );
    this.#blankAudit = db.prepare<[string]>(blankAudit("world_id = ? AND audit IS NOT NULL"));
    this.#blank = db.prepare<[string]>(
      `UPDATE log SET data = ${blankOf("data")} WHERE world_id = ? AND typeof(data) = 'text'`,
    );
  }

  #newDraft(): Draft {
    return new Draft(this.#headOf, undefined, this.#options.audits);
  }

  begin(): void {
    this.#draft = this.#newDraft();
    this.#erased.clear();
    this.#subjects.clear();
  }

  /** Whether the transaction has left erased bytes in the files of the database. */
  get hasErased(): boolean {
    return this.#subjects.size > 0;
  }

  /** Runs a write of an author. If it fails, also later, it has appended nothing. */
  during<T>(by: Author | undefined, write: () => T): T | Promise<Awaited<T>> {
    const mark = this.#draft.mark();
    const failed = (error: unknown): never => {
      this.#draft.back(mark);
      throw error;
    };
    this.#by = by;
    try {
      const result = write();
      return result instanceof Promise ? (result as Promise<Awaited<T>>).catch(failed) : result;
    } catch (error) {
      return failed(error);
    }
  }

  /** Appends an entry, by default by the author of the present write. */
  append(world: string, change: Given, by: Author = this.#by ?? this.#options.author): void {
    this.#draft.append(world, change, by);
  }

  /** Appends an entry to the log of a world, and to the log of all worlds. */
  appendToAll(world: string, change: Given): void {
    for (const one of [world, INDEX]) this.append(one, change);
  }

  /** Appends an entry about an action that only the user could take, such as a vote. */
  appendOf(world: string, user: string, change: Given): void {
    this.append(world, change, userBy(user, this.#by));
  }

  next(world: string): number {
    return this.#draft.next(world);
  }

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

  /** Notes in the audit that the present author deleted a message of another user. */
  moderated(world: string, { event }: Delivery, sender: string | null): void {
    if (!this.#draft.audits) return;
    const by = this.#by ?? { kind: "user", user: event.sender ?? undefined };
    this.append(world, noted(moderatedMessage(event, sender)), by);
  }

  /** The first of so many numbers for events of imported chat. An entry has to follow. See {@link Draft.skip}. */
  skip(world: string, count: number): number {
    return this.#draft.skip(world, count);
  }

  /** Erases all but the ids in the entries of a world. */
  erasedData(world: string): void {
    this.#erased.add(world);
  }

  /** Erases what the audit has of the entries of a world, in its place. */
  async eraseAudit(world: string): Promise<void> {
    this.#blankAudit.run(world);
  }

  /**
   * Rows of these tables were deleted or replaced, or, without tables, something was overwritten in
   * its place. The bytes have to leave the database.
   */
  erased(...tables: string[]): void {
    if (!this.#options.hasFiles) return;
    this.#subjects.add(WAL);
    for (const table of tables) if (isErasedTable(table)) this.#subjects.add(table);
  }

  /** Stores the entries, at the end of the transaction. @returns their hints in this order. */
  finish(): SentHint[] {
    const hints = this.#draft.finish();
    for (const world of this.#erased) {
      if (this.#blank.run(world).changes > 0) this.erased();
    }
    for (const subject of this.#subjects) this.#insertErasure.run(subject, Date.now());
    const rows = this.#draft.rows();
    this.#insert(this.#valuesOf(rows));
    for (const row of this.#draft.callers()) this.#insertCaller.run(row);
    for (const head of this.#draft.heads()) this.#saveHead.run(head);
    let done = 0;
    return hints.map((hint) =>
      toSent(hint, hint.entry.type === "chat.event" ? undefined : rows[done++]),
    );
  }

  /**
   * The values of the rows, one row after the other, without what the transaction has erased or
   * what was in worlds that it has deleted.
   */
  #valuesOf(rows: readonly EntryRow[]): unknown[] {
    const deleted = new Set<string>();
    let last: string | undefined;
    for (const { world_id, audit } of rows) {
      if (audit === null || world_id === last) continue;
      last = world_id;
      if (!this.#hasWorld(world_id)) deleted.add(world_id);
    }
    const values: unknown[] = [];
    for (const row of rows) {
      const { world_id, seq, tag, at, type, author, detail } = row;
      const data = this.#erased.has(world_id) ? null : row.data;
      const kept = deleted.has(world_id) ? UNAUDITED : row;
      const { audit, changes, request } = kept;
      values.push(world_id, seq, tag, at, type, author, detail, data);
      values.push(audit, changes, request);
    }
    return values;
  }
}

/** The fields of each hint. */
type Head = [
  previous: number,
  world: string,
  tag: number,
  kind: Author["kind"],
  user: string | undefined,
  connection: string | undefined,
  token: string | undefined,
];

/**
 * A hint as it travels between the threads: by position, because to copy the names of
 * fields takes most of the time. The delivery of a chat event has its number and time.
 * Another entry has its detail as it is stored, which is JSON: it is made once, and copied faster
 * than an object. `beside` is the JSON of {@link besideDetail}.
 */
export type SentHint =
  | [...Head, delivery: Delivery]
  | [...Head, type: string, seq: number, at: number, detail: string, beside: string | undefined];

/** @param row of the entry; undefined if it is a chat event. */
function toSent({ entry, previous }: Hint<Entry>, row: EntryRow | undefined): SentHint {
  const { world, tag } = entry;
  const { kind, user, connection, token } = entry.by;
  if (entry.type === "chat.event") {
    const { delivery } = entry;
    return [previous, world, tag, kind, user, connection, token, delivery];
  }
  const { type, seq, at, detail } = row!;
  return [
    previous,
    world,
    tag,
    kind,
    user,
    connection,
    token,
    type,
    seq,
    at,
    detail,
    besideDetail(entry),
  ];
}

export const fromSent = (sent: SentHint): Hint<Entry> => {
  const [previous, world, tag, kind, user, connection, token] = sent;
  const by: { -readonly [K in keyof Author]: Author[K] } = { kind };
  if (user !== undefined) by.user = user;
  if (connection !== undefined) by.connection = connection;
  if (token !== undefined) by.token = token;
  if (sent.length === 8) {
    return { entry: chatEntry(world, tag, sent[7], by), previous };
  }
  const [, , , , , , , type, seq, at, detail, beside] = sent;
  const entry = { world, seq, tag, at, by, type };
  Object.assign(entry, JSON.parse(detail));
  if (beside !== undefined) Object.assign(entry, JSON.parse(beside));
  return { entry: entry as Entry, previous };
};

/** How many rows one statement inserts at most, and otherwise: a statement costs as much as half a row. */
const SIZES = [16, 4, 1];

/**
 * The insertion of rows, as many at a time as a transaction has.
 * @param columns of the values, which are given by position: by name, they would take twice the time.
 * @returns a function that takes the values of all rows, one row after the other.
 */
function insertion(
  db: Connection,
  table: string,
  columns: readonly string[],
): (values: readonly unknown[]) => void {
  const places = `(${columns.map(() => "?").join()})`;
  const statements = SIZES.map((count) => ({
    size: count * columns.length,
    insert: db.prepare<unknown[]>(
      `INSERT INTO ${table} (${columns.join()}) VALUES ${Array<string>(count).fill(places).join()}`,
    ),
  }));
  return (values) => {
    let done = 0;
    for (const { size, insert } of statements) {
      for (; values.length - done >= size; done += size) {
        insert.run(values.slice(done, done + size));
      }
    }
  };
}

const NOTHING = new Uint8Array();

/** Appends events to channels, which crowds do at once. */
export function eventAppending(db: Connection, log: WriteLog): EngineWrites {
  const insert = db.prepare<unknown[]>(
    `INSERT INTO chat_events (world_id, id, tag, channel, type, sender, timestamp, replaces, deleted, content, author)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const note = db.prepare<[number, number, number]>(
    "UPDATE chat_channels SET last_event = ?, last_message = ? WHERE number = ?",
  );
  const unlist = db.prepare<[string, string, number]>(
    `UPDATE chat_readers SET listed = NULL
     WHERE world_id = ? AND user_id = ? AND channel = ? AND listed IS NOT NULL`,
  );
  const show = db
    .prepare<[string, number], string>(
      `UPDATE chat_members SET hidden = 0 WHERE world_id = ? AND channel = ? AND hidden = 1
       RETURNING user_id`,
    )
    .pluck();

  return {
    async appendEvent(world, channel, given, notified = []) {
      const { type, sender, content, replaces = null, deleted = 0 } = given;
      const { number, direct } = channel;
      let appeared: string[] = [];
      if (type === MESSAGE && direct !== null) appeared = show.all(world, number);
      else if (type === MESSAGE) unlist.run(world, sender, number);
      const timestamp = Date.now();
      const [id, tag] = [log.next(world), log.newTag()];
      insert.run(
        world,
        id,
        tag,
        number,
        type,
        sender,
        timestamp,
        replaces,
        deleted,
        content ?? NOTHING,
        log.authorBeside(sender),
      );
      const { last_event: previous, last_message: previousMessage } = channel;
      channel.last_event = id;
      if (type !== MEMBER) channel.last_message = id;
      note.run(id, channel.last_message, number);
      const event: EventRow = {
        id,
        type,
        sender,
        timestamp,
        replaces,
        deleted,
        content,
        edited: null,
      };
      const row = { event, previous, previousMessage, notified, appeared };
      const delivery = toDeliveries(channel.id, [row])[0]!;
      log.deliver(world, tag, delivery);
      return delivery;
    },
  };
}
