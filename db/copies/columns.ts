/** A value in a table. All engines use the same values. */
export type Value = string | number | null;

/** A column that exists in every engine with the same meaning. */
export interface Column {
  name: string;
  kind: "text" | "number";
  nullable: boolean;
  /**
   * The first backup version that contains the column. Set only if the table is older than the
   * column; such columns come last.
   */
  since?: number;
  /** The value for rows from backups that lack the column. */
  formerly?: Value;
  /**
   * The table in which the column references a row in the same world: by `id` if the column is
   * text, otherwise by number.
   */
  of?: string;
  /**
   * Whether the reference is not a foreign key, because the reference may outlive the row, or
   * becomes null when the row is erased.
   */
  loose?: boolean;
  /**
   * Whether the column may reference an event that is gone. The column then stands for the last
   * event before that event.
   */
  isMark?: boolean;
  json?: "object" | "list";
  /** The allowed values, besides null. */
  values?: readonly Value[];
  /** Whether the column is a time, in milliseconds since 1970. */
  isTime?: boolean;
  /** Whether the column's text contains ids of rows, which a clone must replace. */
  hasIds?: boolean;
  /**
   * Set if copies of a world omit the column because it can be derived from other columns. An
   * import stores this value first, and computes the column later.
   */
  derived?: Value;
  inClone?: Value;
}

/**
 * The kinds of single-world copies that include a table's rows. Backups include all tables.
 *
 * - `all`: exports and clones.
 * - `export`: exports.
 * - `history`: exports with the chat.
 * - `files`: exports with the files.
 * - `none`: no copies, because the rows are secrets of this server or can be derived from other
 *   rows.
 */
export type Copies = "all" | "export" | "history" | "files" | "none";

/** A table that exists in every engine. */
export interface Table {
  name: string;
  copies: Copies;
  /** The columns that a backup contains, in order. */
  columns: readonly Column[];
  /** The columns that backups omit, because they can be derived from other columns or are soon erased anyway. */
  others: readonly Column[];
  /**
   * The columns of the primary key, which also define the order of the rows: text by code points,
   * numbers by value.
   */
  key: readonly string[];
  /**
   * The first backup version that contains the table, unless that is the oldest supported version.
   * Restoring an earlier backup leaves the table empty.
   */
  since?: number;
  /** The columns of all uniqueness constraints except the primary key. */
  unique: readonly (readonly string[])[];
  /** Whether the rows hold names, text or secrets, whose bytes must leave the disk on erasure. */
  isErasable?: boolean;
}

/** Statements that create tables. The description of each table follows its statement. */
export type SchemaPart = readonly (string | Table)[];

/** A row's values, in the table's column order. */
export type Row = readonly Value[];

export type Kind = Omit<Column, "name">;

export const text = { kind: "text", nullable: false } as const;
export const number = { kind: "number", nullable: false } as const;
export const textOrNull = { kind: "text", nullable: true } as const;
export const numberOrNull = { kind: "number", nullable: true } as const;
export const object = { ...text, json: "object" } as const;
export const objectOrNull = { ...textOrNull, json: "object" } as const;
export const time = { ...number, isTime: true } as const;
export const timeOrNull = { ...numberOrNull, isTime: true } as const;
export const flag: Kind = { ...number, values: [0, 1] };
export const oneOf = (...values: string[]): Kind => ({ ...text, values });
export const list = { ...text, json: "list" } as const;

/** References a row in a table. */
export const idOf = (of: string): Kind => ({ ...text, of });
export const numberOf = (of: string): Kind => ({ ...number, of });
/** References a row without a foreign key. */
export const looseId = (of: string): Kind => ({ ...text, of, loose: true });
export const looseIdOf = (of: string): Kind => ({ ...textOrNull, of, loose: true });
export const looseNumberOf = (of: string): Kind => ({ ...number, of, loose: true });
/** The number of a chat event in the world's log. */
export const event: Kind = looseNumberOf("log");
export const eventOrNull: Kind = { ...numberOrNull, of: "log", loose: true };
export const mark: Kind = { ...event, isMark: true };
export const markOrNull: Kind = { ...eventOrNull, isMark: true };

/**
 * A `world_id` without a foreign key, because the table references the world through another table
 * or outlives the world.
 */
export const anyWorld: Kind = { ...text, of: "worlds", loose: true };

const named = (columns: Record<string, Kind>): Column[] =>
  Object.entries(columns).map(([name, kind]) => ({
    name,
    ...(name === "world_id" && { of: "worlds" }),
    ...kind,
  }));

/**
 * Describes a table.
 * @param keys the primary key, followed by any other uniqueness constraints, separated by
 * semicolons.
 * @param columns `world_id` is a foreign key unless specified otherwise.
 */
export const table = (
  name: string,
  keys: string,
  copies: Copies,
  columns: Record<string, Kind>,
  others: Record<string, Kind> = {},
): Table => {
  const [key, ...unique] = keys.split("; ").map((names) => names.split(" "));
  return { name, copies, key: key!, unique, columns: named(columns), others: named(others) };
};

/** Marks a table whose rows hold names, text or secrets. */
export const erasable = (table: Table): Table => ({ ...table, isErasable: true });
