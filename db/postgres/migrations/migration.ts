import type { Sql } from "../../shared/sql.js";

/** A step from one version of the tables to the next. */
export interface Migration {
  /** Statements. */
  tables: string;
  /** Fills columns afterwards that only JavaScript can fill. */
  fill?(sql: Sql): Promise<void>;
}
