import Database from "better-sqlite3";
import type { Database as Connection } from "better-sqlite3";
import { SERVER } from "../../../db/contract/author.js";
import type { Store } from "../../../db/contract/store.js";
import { openInMemory } from "../../../db/engines/sqlite/engine/sqlite-database.js";
import type { BatchReport, WriteCall } from "../../../db/engines/sqlite/engine/write-calls.js";
import { type StartRunner, WriteRunner } from "../../../db/engines/sqlite/engine/write-runner.js";
import { openSqliteStore } from "../../../db/engines/sqlite/index.js";
import { fromSent, WriteLog } from "../../../db/engines/sqlite/log/log-writes.js";
import type { Entry, Hint, LogPosition } from "../../../db/log/entries.js";
import type { Clock } from "../../../db/runtime.js";

/** Upper bound for the sequence numbers that other processes have seen and this one has not. */
const MARGIN = 1_000_000;

/** The state that rights depend on, after a commit. Each map is keyed by id. */
export interface Past {
  readonly worlds: ReadonlyMap<string, { permission_config: string }>;
  readonly rooms: ReadonlyMap<string, { id: string; name: string; permission_config: string }>;
  readonly users: ReadonlyMap<
    string,
    {
      id: string;
      token_id: string | null;
      client_id: string | null;
      moderation_state: "" | "silenced" | "banned";
    }
  >;
  readonly announcements: ReadonlyMap<string, { text: string; state: string }>;
  readonly channels: ReadonlyMap<string, { direct: string | null }>;
  readonly questions: ReadonlyMap<
    string,
    { room: string; sender: string | null; content: string; state: string }
  >;
  /** `options` holds the contents of the options, as JSON. */
  readonly polls: ReadonlyMap<
    string,
    { room: string; content: string; state: string; options: string }
  >;
}

/** The query that reads each part of {@link Past}, and the types of entries after which it is re-read. */
const PARTS: Record<keyof Past, [types: RegExp, sql: string]> = {
  worlds: [/^world\./, "SELECT id, permission_config FROM worlds"],
  rooms: [/^rooms?\./, "SELECT id, name, permission_config FROM rooms"],
  users: [/^user\./, "SELECT id, token_id, client_id, moderation_state FROM users ORDER BY rowid"],
  announcements: [/^announcement\./, "SELECT id, text, state FROM announcements"],
  channels: [/^chat\.|^room\.deleted$/, "SELECT id, direct FROM chat_channels"],
  questions: [
    /^question\.|^room\.deleted$/,
    "SELECT id, room_id AS room, sender, content, state FROM questions",
  ],
  polls: [
    /^poll\.|^room\.deleted$/,
    `SELECT id, room_id AS room, content, state,
       (SELECT json_group_array(o.content) FROM poll_options AS o WHERE o.poll = p.number) AS options
     FROM polls AS p`,
  ],
};

/** The only database: emptying it is faster than opening another one. One simulation runs at a time. */
const connection: Connection = openInMemory();
const empty = connection.serialize();
const writes = new WriteRunner({
  dataDir: "",
  memory: connection,
  author: SERVER,
  audits: true,
  lockTimeout: 0,
});
const reads = Object.entries(PARTS).map(([part, [types, sql]]) => ({
  part,
  types,
  select: connection.prepare<[], { id: string }>(sql),
}));
const selectEvents = connection.prepare<[string], { id: number; tag: number }>(
  `SELECT id, tag FROM chat_events WHERE gone = 0
     AND channel = (SELECT number FROM chat_channels WHERE id = ?) ORDER BY id`,
);
const selectHead = connection.prepare<[string], LogPosition>(
  "SELECT seq, tag FROM log_heads WHERE world_id = ?",
);
const selectTime = connection
  .prepare<[string, number], number>(
    "SELECT at FROM log WHERE world_id = ? AND seq > ? ORDER BY seq LIMIT 1",
  )
  .pluck();
const selectKept = connection.prepare<[string, number, number]>(
  `SELECT 1 FROM (SELECT world_id, seq, tag FROM log_heads UNION ALL
     SELECT world_id, seq, tag FROM log UNION ALL SELECT world_id, id, tag FROM chat_events)
   WHERE world_id = ? AND seq = ? AND tag = ?`,
);

/** The database shared by the processes of a simulation. It can revert to an earlier state. */
export class SharedDatabase {
  readonly connection: Connection = connection;
  /** The states after each commit. Going back also counts as a commit. */
  readonly past: Past[] = [];
  /** Number of times the database went back. */
  losses = 0;
  /** Receives the entries that each commit appended. */
  onCommit: (hints: readonly Hint<Entry>[]) => void = () => {};
  /** A store without simulated faults, such as that of a command running next to the servers. */
  readonly store: Store;
  /** The commit that appended each entry, by tag. */
  readonly #commits = new Map<number, number>();
  /** The tag of each entry's predecessor, by tag. */
  readonly #previous = new Map<number, number>();

  constructor(clock: Clock) {
    this.#become(empty);
    const runner: StartRunner = (_, { onReport, onEnd }) => ({
      post: (message) => void (Array.isArray(message) ? this.run(message).then(onReport) : onEnd()),
    });
    this.store = openSqliteStore(connection, { clock, runner });
  }

  /** The state after the last commit. */
  get present(): Past {
    return this.past.at(-1)!;
  }

  /** The number of the last commit. */
  get commit(): number {
    return this.past.length - 1;
  }

  /** Returns the commit that appended an entry; 0 for entries that existed from the beginning. */
  commitOf(tag: number): number {
    return this.#commits.get(tag) ?? 0;
  }

  /** Returns the tag of the preceding entry, even if the database has gone back since. */
  tagBefore(tag: number): number | undefined {
    return this.#previous.get(tag);
  }

  /** Returns the position of a world's last entry. */
  headOf(world: string): LogPosition {
    return selectHead.get(world) ?? { seq: 0, tag: 0 };
  }

  /** Returns when the first entry after a sequence number was made; undefined if there is none. */
  madeAfter(world: string, seq: number): number | undefined {
    return selectTime.get(world, seq);
  }

  /** Returns a channel's events, in order. */
  eventsOf(channel: string): { id: number; tag: number }[] {
    return selectEvents.all(channel);
  }

  /** Runs writes in a transaction. */
  async run(calls: readonly WriteCall[]): Promise<BatchReport> {
    const report = await writes.run(calls);
    this.#committed(report.hints.map(fromSent));
    return report;
  }

  /** Returns a copy of everything stored, for {@link goBack}. */
  copy(): Buffer {
    return connection.serialize();
  }

  /** Reverts to an earlier state. */
  goBack(earlier: Buffer): void {
    this.losses++;
    this.#become(earlier);
  }

  #become(state: Buffer): void {
    const db = connection;
    const from = new Database(state);
    const tables = from
      .prepare<[], string>(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'chat_words%'",
      )
      .pluck()
      .all();
    db.pragma("foreign_keys = OFF");
    db.transaction(() => {
      db.exec("DELETE FROM chat_words");
      for (const table of tables) {
        db.exec(`DELETE FROM ${table}`);
        const rows = from.prepare<[], unknown[]>(`SELECT * FROM ${table}`).raw().all();
        if (!rows[0]) continue;
        const places = rows[0].map(() => "?").join();
        const insert = db.prepare(`INSERT INTO ${table} VALUES (${places})`);
        for (const row of rows) insert.run(row);
      }
      db.exec("UPDATE chat_channels SET searched = 0");
    })();
    db.pragma("foreign_keys = ON");
    from.close();
    this.#note(/./);
  }

  /** Ensures that no sequence number is reused, like the PostgreSQL engine. */
  raiseLost(seen: ReadonlyMap<string, LogPosition>): void {
    for (const [world, { seq, tag }] of seen) {
      if (seq === 0 || selectKept.get(world, seq, tag)) continue;
      const log = new WriteLog(connection, { author: SERVER, audits: true, hasFiles: false });
      log.begin();
      log.skip(world, Math.max(seq - this.headOf(world).seq, 0) + MARGIN - 1);
      log.append(world, { type: "world.raised" });
      this.#committed(log.finish().map(fromSent));
    }
  }

  #committed(hints: readonly Hint<Entry>[]): void {
    if (hints.length === 0) return;
    this.#note(...hints.map(({ entry }) => entry.type));
    for (const { entry, previous } of hints) {
      this.#commits.set(entry.tag, this.commit);
      this.#previous.set(entry.tag, previous);
    }
    this.onCommit(hints);
  }

  /**
   * Records the current state. @param types the types of the entries since the last record; a
   * pattern re-reads everything.
   */
  #note(...types: (string | RegExp)[]): void {
    const isDue = (of: RegExp) => types.some((it) => typeof it !== "string" || of.test(it));
    const read = reads.flatMap(({ part, types, select }) =>
      isDue(types) ? [[part, new Map(select.all().map((row) => [row.id, row]))] as const] : [],
    );
    this.past.push({ ...this.past.at(-1), ...Object.fromEntries(read) } as Past);
  }
}
