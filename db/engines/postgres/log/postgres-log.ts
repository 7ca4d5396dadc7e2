import { type ClientBase, escapeLiteral } from "pg";
import { type Author, SERVER, userBy } from "../../../contract/author.js";
import type { ChatDelivery } from "../../../contract/chat-store.js";
import { CALLER_SEEN } from "../../../domains/audit.js";
import { LogDraft, type GivenEntry } from "../../../log/draft.js";
import {
  storedAuthorOf,
  chatEntry,
  INDEX,
  LOG_COLUMNS,
  type LogPosition,
} from "../../../log/entries.js";
import { moderatedMessage, noted } from "../../../rules/acts.js";
import { encodedText, lockOfWorld, sqlOn } from "../engine/postgres-sql.js";

/** Work that a transaction's writes defer until just before the commit. */
export class TransactionEffects {
  /** Tables whose rows contain erased data. */
  readonly erased = new Set<string>();
  /** Entries for {@link INDEX}, whose head is read and locked last. */
  readonly index: { change: GivenEntry; by: Author }[] = [];
  /** Whether to erase the hidden data in entries. */
  isDataErased = false;

  add({ erased, index, isDataErased }: TransactionEffects): void {
    for (const table of erased) this.erased.add(table);
    this.index.push(...index);
    this.isDataErased ||= isDataErased;
  }
}

export type EntryAuthor = Author | undefined;

/** Lets one write append entries to its world's log. */
export class Log {
  readonly #draft: LogDraft;
  readonly #world: string;
  readonly #noted: TransactionEffects;
  readonly #writer: EntryAuthor;
  readonly #by: Author;

  /** @param by the author of the entries if `writer` is undefined. */
  constructor(
    of: { draft: LogDraft; world: string; noted: TransactionEffects },
    writer: EntryAuthor,
    by: Author = SERVER,
  ) {
    this.#draft = of.draft;
    this.#world = of.world;
    this.#noted = of.noted;
    this.#writer = writer;
    this.#by = writer ?? by;
  }

  /** The number of the world's last entry, including entries that this write has appended. */
  get last(): number {
    return this.#draft.next(this.#world) - 1;
  }

  /** The id of the user who makes the write; null if it is no user. */
  get user(): string | null {
    return this.#by.user ?? null;
  }

  append(change: GivenEntry): void {
    this.#draft.append(this.#world, change, this.#by);
  }

  /** Appends an entry about an action that only the user themselves could perform, such as a vote. */
  appendOf(user: string, change: GivenEntry): void {
    this.#draft.append(this.#world, change, userBy(user, this.#by));
  }

  /** Appends an entry to the world's log and, at the end of the transaction, to the log of all worlds. */
  appendToAll(change: GivenEntry): void {
    this.append(change);
    this.#noted.index.push({ change, by: this.#by });
  }

  /** Returns the id and the tag for the next chat event. Call {@link posted} once the event is stored. */
  nextEvent(): { id: number; tag: number } {
    return { id: this.#draft.next(this.#world), tag: this.#draft.newTag() };
  }

  /** Returns the author to store with a new chat event: see {@link storedAuthorOf}. */
  authorBeside(sender: string | null): string | null {
    return storedAuthorOf(sender, this.#writer);
  }

  /** Appends the entry for a stored chat event. */
  posted(tag: number, delivery: ChatDelivery): void {
    this.#draft.put(chatEntry(this.#world, tag, delivery, this.#writer));
  }

  /** Records in the audit that the current author deleted another user's message. */
  moderated({ event }: ChatDelivery, sender: string | null): void {
    if (!this.#draft.audits) return;
    const user = event.sender ?? undefined;
    const by = this.#writer ?? { kind: "user" as const, user };
    const act = noted(moderatedMessage(event, sender));
    this.#draft.append(this.#world, act, by);
  }

  /** Reserves ids for imported events. @returns the first id. */
  skip(count: number): number {
    return this.#draft.skip(this.#world, count);
  }

  newTag(): number {
    return this.#draft.newTag();
  }

  /** Records that rows in these tables contain erased data. */
  erased(...tables: string[]): void {
    for (const table of tables) this.#noted.erased.add(table);
  }

  /** Records that erased data may remain in entries as hidden data. */
  erasedData(): void {
    this.#noted.isDataErased = true;
  }
}

const literal = (value: string | number | null): string =>
  typeof value === "string" ? escapeLiteral(encodedText(value)) : `${value}`;

/** Returns the statement that reads the position of a world's last entry. */
export const headOf = (world: string): string =>
  `SELECT seq, tag FROM log_heads WHERE world_id = ${literal(world)}`;

/** Reads the position of the last entry in the log of all worlds, and locks that log until the commit. */
export const LOCKED_INDEX = `INSERT INTO log_heads (world_id, seq, tag) VALUES ('${INDEX}', 0, 0)
  ON CONFLICT (world_id) DO UPDATE SET seq = log_heads.seq RETURNING seq, tag`;

/** Converts the result row of {@link headOf} to a position. Without a row, the log is empty. */
export const positionIn = (row: Record<keyof LogPosition, unknown> | undefined): LogPosition => ({
  seq: Number(row?.seq ?? 0),
  tag: Number(row?.tag ?? 0),
});

/** Returns the statement that erases the hidden data in a world's entries. */
export const eraseData = (world: string): string =>
  `UPDATE log SET data = NULL WHERE world_id = ${literal(world)} AND data IS NOT NULL`;

/**
 * Returns the statements that store the entries of a finished draft.
 * @param withData whether to include the entries' hidden data.
 */
export function storing(draft: LogDraft, withData: boolean): string[] {
  const heads = draft.heads();
  if (heads.length === 0) return [];
  const rows = draft
    .rows()
    .map((row) => (withData ? row : { ...row, data: null }))
    .map((row) => LOG_COLUMNS.map((name) => literal(row[name])));
  const callers = draft.callers();
  const stored = heads.map(({ world, seq, tag }) => [literal(world), seq, tag]);
  return [
    ...(rows.length > 0 ? [`INSERT INTO log (${LOG_COLUMNS.join()}) VALUES ${tuples(rows)}`] : []),
    ...intoWorlds("api_callers", callers, CALLER_SEEN),
    `INSERT INTO log_heads (world_id, seq, tag) VALUES ${tuples(stored)}
     ON CONFLICT (world_id) DO UPDATE SET seq = excluded.seq, tag = excluded.tag`,
  ];
}

/**
 * Returns the statement that records which tables contain erased data, or no statement if there are
 * no such tables.
 */
export function notingErasures(tables: ReadonlySet<string>): string[] {
  if (tables.size === 0) return [];
  const now = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
  const rows = [...tables].map((table) => `(${literal(table)}, ${now})`);
  return [`INSERT INTO erasures (subject, at) VALUES ${rows.join()}`];
}

/** Returns the statement that inserts a world's rows in order, unless the world has been deleted. */
function intoWorlds(
  table: string,
  rows: readonly { readonly world_id: string }[],
  conflict = "",
): string[] {
  if (rows.length === 0) return [];
  const [{ world_id }] = rows as [(typeof rows)[0]];
  const names = Object.keys(rows[0]!);
  const columns = names.join();
  const values = rows.map((row) => {
    const named = row as unknown as Record<string, string | number | null>;
    return names.map((name) => literal(named[name]!));
  });
  return [
    `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM (VALUES ${tuples(values)}) AS given (${columns})
     WHERE EXISTS (SELECT FROM worlds WHERE id = ${literal(world_id)}) ${conflict}`,
  ];
}

const tuples = (rows: readonly (readonly (string | number)[])[]): string =>
  rows.map((row) => `(${row.join()})`).join();

/** Upper bound on the number of entries that other processes have seen but this process has not. */
const MARGIN = 1_000_000;

/** Selects the worlds whose log lacks a known position. */
const LOST = `
  SELECT world FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS known (world, seq, tag)
  WHERE NOT EXISTS (SELECT FROM log_heads AS h
      WHERE h.world_id = world AND h.seq = known.seq AND h.tag = known.tag)
    AND NOT EXISTS (SELECT FROM log AS l
      WHERE l.world_id = world AND l.seq = known.seq AND l.tag = known.tag)
    AND NOT EXISTS (SELECT FROM chat_events AS e
      WHERE e.world_id = world AND e.id + 0 = known.seq AND e.tag = known.tag)`;

/**
 * Ensures that no entry number is assigned twice. A standby that lagged when it took over, or a
 * restored database, lacks the last entries and would reuse their numbers. Clients that know the
 * original entries would never receive the new entries.
 * @param seen the last position that this process has seen in each world's log.
 */
export async function raiseLost(
  client: ClientBase,
  seen: ReadonlyMap<string, LogPosition>,
): Promise<void> {
  const known = [...seen].filter(([, { seq }]) => seq > 0);
  if (known.length === 0) return;
  const lost = await sqlOn((query) => client.query(query)).column<string>(LOST, [
    known.map(([world]) => world),
    known.map(([, { seq }]) => seq),
    known.map(([, { tag }]) => tag),
  ]);
  for (const world of lost) await raise(client, world, seen.get(world)!.seq);
}

/** Appends an entry whose number is far above both a seen number and all existing numbers. */
async function raise(client: ClientBase, world: string, seen: number): Promise<void> {
  await client.query(`BEGIN ISOLATION LEVEL READ COMMITTED; ${lockOfWorld(world)}`);
  // A separate statement, so that it sees all commits made before the lock was released.
  const { rows } = await client.query<Record<"seq" | "tag", unknown>>(
    `${headOf(world)} FOR UPDATE`,
  );
  const head = positionIn(rows[0]);
  const draft = new LogDraft(() => head);
  draft.skip(world, Math.max(seen - head.seq, 0) + MARGIN - 1);
  draft.append(world, { type: "world.raised" }, SERVER);
  draft.finish();
  await client.query([...storing(draft, true), "COMMIT"].join("; "));
}
