import type { FileDigest } from "../contract/store.js";
import type { Sql } from "../domains/domain.js";
import { HAS_FILE } from "../domains/files.js";
import { overdueErasures } from "../erasure/erasure-job.js";
import { type Dialect, type Found, rulesIn } from "../rules/contradictions.js";
import { COUNTED, type RowCounts } from "./table-rows.js";

/** How many records are read at a time. */
const PAGE = 1000;

/** A database that is inspected. All methods throw a {@link StoreError} `unusable` if it cannot be read. */
export interface InspectedDatabase {
  readonly sql: Sql;
  readonly dialect: Dialect;
  /** The faults of its structure, one line each. */
  damage(): Promise<string[]>;
  /** Runs statements that see one moment. */
  snapshot<T>(read: () => Promise<T>): Promise<T>;
  /** The references to missing rows, one line each. */
  dangling(): Promise<string[]>;
  close(): Promise<void>;
}

/** The queries of a check. Other processes may write to the database meanwhile. */
export class Inspector {
  readonly #db: InspectedDatabase;

  constructor(db: InspectedDatabase) {
    this.#db = db;
  }

  /**
   * The faults of its structure, one line each.
   * @throws {StoreError} `unusable`, as all methods do, if it cannot be read.
   */
  damage(): Promise<string[]> {
    return this.#db.damage();
  }

  /** The erasures that are overdue, one line each. */
  overdue(): Promise<string[]> {
    return overdueErasures(this.#db.sql);
  }

  /**
   * The faults of its rows at one moment, one line each: references to missing rows, JSON that does
   * not parse, wrong counts.
   */
  contradictions(): Promise<string[]> {
    const { sql, dialect } = this.#db;
    return this.#db.snapshot(async () => {
      const found = await this.#db.dangling();
      for (const [rule, words] of rulesIn(dialect)) {
        for (const one of await sql.all<Found>(rule)) found.push(words(one));
      }
      return found;
    });
  }

  async counts(): Promise<RowCounts> {
    const { sql, dialect } = this.#db;
    const counts = COUNTED.map((table) => {
      const rows = table === "chat_events" ? `${dialect.events} AS e` : table;
      return `(SELECT count(*) FROM ${rows}) AS ${table}`;
    });
    return (await sql.one<RowCounts>(`SELECT ${counts.join()}`))!;
  }

  /** The size of all files, as recorded. */
  async bytes(): Promise<number> {
    return (await this.#db.sql.value<number>("SELECT coalesce(sum(size), 0) AS bytes FROM files"))!;
  }

  /**
   * The next records of files, in the order of the UTF-8 bytes of their keys.
   * @param after the last key that is known; empty for none.
   * @returns at most {@link PAGE}; none at the end.
   */
  records(after: string): Promise<FileDigest[]> {
    return this.#db.sql.all<FileDigest>(
      `SELECT key, size, sha256 FROM files WHERE key > $1 ORDER BY key LIMIT ${PAGE}`,
      [after],
    );
  }

  /** Whether a file has this key now. */
  async has(key: string): Promise<boolean> {
    return (await this.#db.sql.one(HAS_FILE, [key])) !== undefined;
  }

  close(): Promise<void> {
    return this.#db.close();
  }
}
