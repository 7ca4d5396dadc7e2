import { type ClientBase, escapeLiteral } from "pg";
import { type Author, SERVER, userBy } from "../../../contract/author.js";
import type { Delivery } from "../../../contract/chat-store.js";
import { CALLER_SEEN } from "../../../domains/audit.js";
import { Draft, type Given } from "../../../log/draft.js";
import {
  authorBeside,
  chatEntry,
  INDEX,
  LOG_COLUMNS,
  type Position,
} from "../../../log/entries.js";
import { moderatedMessage, noted } from "../../../rules/acts.js";
import { encodedText, lockOfWorld, sqlOn } from "../engine/postgres-sql.js";

/** The work that the writes of a transaction leave beside their statements. */
export class Noted {
  /** Tables with rows that hold erased data. */
  readonly erased = new Set<string>();
  /** Entries for {@link INDEX}, whose head is read last. */
  readonly index: { change: Given; by: Author }[] = [];
  /** Whether the hidden texts of entries are erased. */
  isDataErased = false;

  add({ erased, index, isDataErased }: Noted): void {
    for (const table of erased) this.erased.add(table);
    this.index.push(...index);
    this.isDataErased ||= isDataErased;
  }
}

export type Writer = Author | undefined;

/** The log of a world, as one write of it appends to it. */
export class Log {
  readonly #draft: Draft;
  readonly #world: string;
  readonly #noted: Noted;
  readonly #writer: Writer;
  readonly #by: Author;

  /** @param by the author of entries, if the write has no writer. */
  constructor(
    of: { draft: Draft; world: string; noted: Noted },
    writer: Writer,
    by: Author = SERVER,
  ) {
    this.#draft = of.draft;
    this.#world = of.world;
    this.#noted = of.noted;
    this.#writer = writer;
    this.#by = writer ?? by;
  }

  /** The number of the last entry of the world so far, with the entries of this write. */
  get last(): number {
    return this.#draft.next(this.#world) - 1;
  }

  append(change: Given): void {
    this.#draft.append(this.#world, change, this.#by);
  }

  /** Appends an entry about an action that only the user could take, such as a vote. */
  appendOf(user: string, change: Given): void {
    this.#draft.append(this.#world, change, userBy(user, this.#by));
  }

  /** Appends an entry to the log of the world and, later, to the log of all worlds. */
  appendToAll(change: Given): void {
    this.append(change);
    this.#noted.index.push({ change, by: this.#by });
  }

  /** The id and the tag of the chat event that is stored next, and then {@link posted}. */
  nextEvent(): { id: number; tag: number } {
    return { id: this.#draft.next(this.#world), tag: this.#draft.newTag() };
  }

  /** The author of a chat event that is stored now: see {@link authorBeside}. */
  authorBeside(sender: string | null): string | null {
    return authorBeside(sender, this.#writer);
  }

  /** Appends the entry of a chat event that was stored. */
  posted(tag: number, delivery: Delivery): void {
    this.#draft.put(chatEntry(this.#world, tag, delivery, this.#writer));
  }

  /** Notes in the audit that the present author deleted a message of another user. */
  moderated({ event }: Delivery, sender: string | null): void {
    if (!this.#draft.audits) return;
    const user = event.sender ?? undefined;
    const by = this.#writer ?? { kind: "user" as const, user };
    const act = noted(moderatedMessage(event, sender));
    this.#draft.append(this.#world, act, by);
  }

  /** Takes the ids of events that are imported. @returns the first of them. */
  skip(count: number): number {
    return this.#draft.skip(this.#world, count);
  }

  newTag(): number {
    return this.#draft.newTag();
  }

  /** Rows of these tables hold erased data. */
  erased(...tables: string[]): void {
    for (const table of tables) this.#noted.erased.add(table);
  }

  /** Something is erased that an entry may have hidden. */
  erasedData(): void {
    this.#noted.isDataErased = true;
  }
}

const literal = (value: string | number | null): string =>
  typeof value === "string" ? escapeLiteral(encodedText(value)) : `${value}`;

/** The statement that reads the last entry of a world. */
export const headOf = (world: string): string =>
  `SELECT seq, tag FROM log_heads WHERE world_id = ${literal(world)}`;

/** The statement that reads the last entry of all worlds, which nothing else appends to until the commit. */
export const LOCKED_INDEX = `INSERT INTO log_heads (world_id, seq, tag) VALUES ('${INDEX}', 0, 0)
  ON CONFLICT (world_id) DO UPDATE SET seq = log_heads.seq RETURNING seq, tag`;

/** The position in a row of {@link headOf}. */
export const positionIn = (row: Record<keyof Position, unknown> | undefined): Position => ({
  seq: Number(row?.seq ?? 0),
  tag: Number(row?.tag ?? 0),
});

/** The statement that erases the hidden texts in the entries of a world. */
export const eraseData = (world: string): string =>
  `UPDATE log SET data = NULL WHERE world_id = ${literal(world)} AND data IS NOT NULL`;

/**
 * The statements that store the entries of a finished draft.
 * @param withData whether to include their hidden texts.
 */
export function storing(draft: Draft, withData: boolean): string[] {
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

/** The statement that notes which tables have rows that hold erased data. */
export function notingErasures(tables: ReadonlySet<string>): string[] {
  if (tables.size === 0) return [];
  const now = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
  const rows = [...tables].map((table) => `(${literal(table)}, ${now})`);
  return [`INSERT INTO erasures (subject, at) VALUES ${rows.join()}`];
}

/** The statement that inserts rows of the world of a transaction in their order, if it still exists. */
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

/** How many numbers other processes may have seen that this one has not. */
const MARGIN = 1_000_000;

/** The positions that are not in the log of their world. */
const LOST = `
  SELECT world FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS known (world, seq, tag)
  WHERE NOT EXISTS (SELECT FROM log_heads AS h
      WHERE h.world_id = world AND h.seq = known.seq AND h.tag = known.tag)
    AND NOT EXISTS (SELECT FROM log AS l
      WHERE l.world_id = world AND l.seq = known.seq AND l.tag = known.tag)
    AND NOT EXISTS (SELECT FROM chat_events AS e
      WHERE e.world_id = world AND e.id + 0 = known.seq AND e.tag = known.tag)`;

/**
 * Sees to it that no number of an entry is given twice. A standby that lagged when it took
 * over, or a database that was restored, lacks the last entries, and would give their
 * numbers to others. People may know the first ones, and would never get the second.
 * @param seen the last entries in the logs that this process has seen.
 */
export async function raiseLost(
  client: ClientBase,
  seen: ReadonlyMap<string, Position>,
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

/** Appends an entry whose number is far above a number that was seen, and above all that there are. */
async function raise(client: ClientBase, world: string, seen: number): Promise<void> {
  await client.query(`BEGIN ISOLATION LEVEL READ COMMITTED; ${lockOfWorld(world)}`);
  // A statement of its own, so that it sees all commits before the release of the lock.
  const { rows } = await client.query<Record<"seq" | "tag", unknown>>(
    `${headOf(world)} FOR UPDATE`,
  );
  const head = positionIn(rows[0]);
  const draft = new Draft(() => head);
  draft.skip(world, Math.max(seen - head.seq, 0) + MARGIN - 1);
  draft.append(world, { type: "world.raised" }, SERVER);
  draft.finish();
  await client.query([...storing(draft, true), "COMMIT"].join("; "));
}
