import type { FileDigest } from "../contract/store.js";
import type { Sql } from "../domains/domain.js";
import { HAS_FILE } from "../domains/files.js";
import { overdueErasures } from "../erasure/erasure-job.js";
import { type Dialect, type SubjectCount, rulesIn } from "../rules/contradictions.js";
import { COUNTED, type TableRowCounts } from "./table-rows.js";

const PAGE = 1000;

/** A database under inspection. All methods throw a {@link StoreError} `unusable` if the database cannot be read. */
export interface InspectedDatabase {
  readonly sql: Sql;
  readonly dialect: Dialect;
  /** Returns structural faults, one line each. */
  damage(): Promise<string[]>;
  /** Runs statements against a single snapshot of the database. */
  snapshot<T>(read: () => Promise<T>): Promise<T>;
  /** Returns references to missing rows, one line each. */
  dangling(): Promise<string[]>;
  close(): Promise<void>;
}

/** Runs the queries of a check. Other processes may write to the database concurrently. */
export class Inspector {
  readonly #db: InspectedDatabase;

  constructor(db: InspectedDatabase) {
    this.#db = db;
  }

  /**
   * Returns structural faults, one line each.
   * @throws {StoreError} `unusable`, like all methods, if the database cannot be read.
   */
  damage(): Promise<string[]> {
    return this.#db.damage();
  }

  /** Returns overdue erasures, one line each. */
  overdue(): Promise<string[]> {
    return overdueErasures(this.#db.sql);
  }

  /**
   * Returns the faults in the rows of one snapshot, one line each: references to missing rows,
   * malformed JSON, and wrong counts.
   */
  contradictions(): Promise<string[]> {
    const { sql, dialect } = this.#db;
    return this.#db.snapshot(async () => {
      const found = await this.#db.dangling();
      for (const [rule, words] of rulesIn(dialect)) {
        for (const one of await sql.all<SubjectCount>(rule)) found.push(words(one));
      }
      return found;
    });
  }

  async counts(): Promise<TableRowCounts> {
    const { sql, dialect } = this.#db;
    const counts = COUNTED.map((table) => {
      const rows = table === "chat_events" ? `${dialect.events} AS e` : table;
      return `(SELECT count(*) FROM ${rows}) AS ${table}`;
    });
    return (await sql.one<TableRowCounts>(`SELECT ${counts.join()}`))!;
  }

  /** Returns the total recorded size of all files, in bytes. */
  async bytes(): Promise<number> {
    return (await this.#db.sql.value<number>("SELECT coalesce(sum(size), 0) AS bytes FROM files"))!;
  }

  /**
   * Returns the next file records, ordered by the UTF-8 bytes of their keys.
   * @param after the key of the last known record, or an empty string for the first records.
   * @returns at most {@link PAGE} records, or an empty list at the end.
   */
  records(after: string): Promise<FileDigest[]> {
    return this.#db.sql.all<FileDigest>(
      `SELECT key, size, sha256 FROM files WHERE key > $1 ORDER BY key LIMIT ${PAGE}`,
      [after],
    );
  }

  /** Whether a file with this key is currently recorded. */
  async has(key: string): Promise<boolean> {
    return (await this.#db.sql.one(HAS_FILE, [key])) !== undefined;
  }

  close(): Promise<void> {
    return this.#db.close();
  }
}
