import type { Database as Connection } from "better-sqlite3";
import { type Author, userBy } from "../../../contract/author.js";
import type { ChatDelivery } from "../../../contract/chat-store.js";
import { CALLER_SEEN } from "../../../domains/audit.js";
import type { DomainLog, EngineWrites } from "../../../domains/domain.js";
import { WAL } from "../../../erasure/erasure-job.js";
import { type ApiCallerRow, LogDraft, type GivenEntry } from "../../../log/draft.js";
import {
  storedAuthorOf,
  outsideDetail,
  chatEntry,
  type Entry,
  type EntryRow,
  type Hint,
  INDEX,
  LOG_COLUMNS,
  type LogPosition,
  UNAUDITED,
} from "../../../log/entries.js";
import { moderatedMessage, noted } from "../../../rules/acts.js";
import { type EventRow, MEMBER, MESSAGE, toDeliveries } from "../../../rules/chat-rows.js";
import { blankAudit, blankOf, isErasable } from "../erasure/scrub.js";

interface WriteLogOptions {
  /** The default author of writes. */
  readonly author: Author;
  readonly audits: boolean;
  /** Whether the database has files from which erased bytes must be removed. */
  readonly hasFiles: boolean;
}

/** Appends entries to the logs of all worlds, in one transaction at a time. */
export class WriteLog implements DomainLog {
  readonly #options: WriteLogOptions;
  readonly #headOf: (world: string) => LogPosition;
  readonly #insert;
  readonly #saveHead;
  readonly #blank;
  readonly #blankAudit;
  readonly #hasWorld: (world: string) => boolean;
  readonly #insertCaller;
  #draft: LogDraft;
  /** The author that the current write names, if any. */
  #by: Author | undefined;
  /** The worlds in whose entries the transaction erases hidden data. */
  readonly #erased = new Set<string>();
  readonly #insertErasure;
  /** The subjects of the transaction's erasures: see {@link isErasable} and {@link WAL}. */
  readonly #subjects = new Set<string>();

  constructor(db: Connection, options: WriteLogOptions) {
    this.#options = options;
    const selectHead = db.prepare<[string], LogPosition>(
      "SELECT seq, tag FROM log_heads WHERE world_id = ?",
    );
    this.#headOf = (world) => selectHead.get(world) ?? { seq: 0, tag: 0 };
    this.#draft = this.#newDraft();
    this.#insert = insertion(db, "log", LOG_COLUMNS);
    this.#saveHead = db.prepare<LogPosition & { world: string }>(
      `INSERT INTO log_heads (world_id, seq, tag) VALUES (@world, @seq, @tag)
       ON CONFLICT DO UPDATE SET seq = excluded.seq, tag = excluded.tag`,
    );
    const hasWorld = db.prepare<[string]>("SELECT 1 FROM worlds WHERE id = ?");
    this.#hasWorld = (world) => hasWorld.get(world) !== undefined;
    this.#insertCaller = db.prepare<ApiCallerRow>(
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

  #newDraft(): LogDraft {
    return new LogDraft(this.#headOf, undefined, this.#options.audits);
  }

  begin(): void {
    this.#draft = this.#newDraft();
    this.#erased.clear();
    this.#subjects.clear();
  }

  /** Whether the transaction has left erased bytes in the database files. */
  get hasErased(): boolean {
    return this.#subjects.size > 0;
  }

  /** Runs a write on behalf of an author. If the write throws or rejects, its entries are discarded. */
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

  /** Appends an entry, by default with the author of the current write. */
  append(world: string, change: GivenEntry, by: Author = this.#by ?? this.#options.author): void {
    this.#draft.append(world, change, by);
  }

  /** Appends an entry to the world's log and to the log of all worlds. */
  appendToAll(world: string, change: GivenEntry): void {
    for (const one of [world, INDEX]) this.append(one, change);
  }

  /** Appends an entry about an action that only the user themselves could perform, such as a vote. */
  appendOf(world: string, user: string, change: GivenEntry): void {
    this.append(world, change, userBy(user, this.#by));
  }

  user(): string | null {
    return this.#by?.user ?? null;
  }

  next(world: string): number {
    return this.#draft.next(world);
  }

  newTag(): number {
    return this.#draft.newTag();
  }

  /** Returns the author to store with a new chat event: see {@link storedAuthorOf}. */
  authorBeside(sender: string | null): string | null {
    return storedAuthorOf(sender, this.#by);
  }

  /** Appends the entry for a stored chat event. The event's id must be the log's next number. */
  deliver(world: string, tag: number, delivery: ChatDelivery): void {
    this.#draft.put(chatEntry(world, tag, delivery, this.#by));
  }

  /** Records in the audit that the current author deleted another user's message. */
  moderated(world: string, { event }: ChatDelivery, sender: string | null): void {
    if (!this.#draft.audits) return;
    const by = this.#by ?? { kind: "user", user: event.sender ?? undefined };
    this.append(world, noted(moderatedMessage(event, sender)), by);
  }

  /**
   * Reserves numbers for imported chat events. An entry must follow: see {@link LogDraft.skip}.
   * @returns the first number.
   */
  skip(world: string, count: number): number {
    return this.#draft.skip(world, count);
  }

  /** Erases the hidden data in a world's entries, at the end of the transaction. */
  erasedData(world: string): void {
    this.#erased.add(world);
  }

  /** Erases the audit data in a world's entries in place. */
  async eraseAudit(world: string): Promise<void> {
    this.#blankAudit.run(world);
  }

  /**
   * Records that rows in the given tables were deleted or replaced or, without tables, that data
   * was overwritten in place. In both cases, the old bytes must still be removed from the database
   * files.
   */
  erased(...tables: string[]): void {
    if (!this.#options.hasFiles) return;
    this.#subjects.add(WAL);
    for (const table of tables) if (isErasable(table)) this.#subjects.add(table);
  }

  /** Stores the entries at the end of the transaction. @returns the hints about the entries, in order. */
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
   * Returns the rows' values as a flat list. Omits the hidden data that the transaction has erased,
   * and the audit data in the logs of worlds that the transaction has deleted.
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

/** The fields common to all hints. */
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
 * A hint, as sent between threads. The hint is a tuple, because cloning field names would dominate
 * the cost. The delivery of a chat event already contains the entry's number and time. Any other
 * entry is sent with its stored `detail`, because a JSON string is cloned faster than an object.
 * `beside` is the JSON of {@link outsideDetail}.
 */
export type SentHint =
  | [...Head, delivery: ChatDelivery]
  | [...Head, type: string, seq: number, at: number, detail: string, beside: string | undefined];

/** @param row the entry's row; undefined for a chat event. */
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
    outsideDetail(entry),
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

/**
 * Rows per statement, largest first. Each statement costs as much as half a row in addition to the
 * cost of its rows.
 */
const SIZES = [16, 4, 1];

/**
 * Creates a function that inserts rows in as few statements as possible.
 * @param columns the columns, in the order of the values. Values are bound by position, because
 * binding them by name takes twice as long.
 * @returns a function that receives the values of all rows as a flat list.
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

/** Appends events to channels. Implemented in the engine, because crowds append events concurrently. */
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
