/** A value of a table in a store, whatever engine keeps it. */
export type Value = string | number | null;

/** A column that every engine has, with the same meaning. */
export interface Column {
  name: string;
  kind: "text" | "number";
  nullable: boolean;
  /** The version of backups that first has it, if its table is older. All later columns are as new. */
  since?: number;
  /** The value in the rows of older backups. */
  formerly?: Value;
  /** The table whose row it names in the same world: by `id` if it is a text, by its number otherwise. */
  of?: string;
  /** Whether it is no foreign key, as it may outlive the row, or becomes null where that is erased. */
  loose?: boolean;
  /** Whether it may name an event that is gone, and then means the last one before it. */
  isMark?: boolean;
  json?: "object" | "list";
  /** Which values it has at most, beside null. */
  values?: readonly Value[];
  /** Whether it is a time, in milliseconds since 1970. */
  isTime?: boolean;
  /** Whether ids of rows are in its text, which a clone has to replace. */
  hasIds?: boolean;
  /**
   * That copies of a world lack it, as it follows from other columns. An import computes it,
   * and stores this value until then.
   */
  derived?: Value;
  inClone?: Value;
}

/**
 * Which copies of one world have the rows of a table. Backups have all.
 *
 * - `all`: exports and clones.
 * - `export`: exports.
 * - `history`: exports with the chat.
 * - `files`: exports with the files.
 * - `none`: neither, as the rows are secrets of this server, or follow from others.
 */
export type Copies = "all" | "export" | "history" | "files" | "none";

/** A table as every engine has it. */
export interface Table {
  name: string;
  copies: Copies;
  /** The columns in a backup, in its order. */
  columns: readonly Column[];
  /** The columns that a backup lacks: what follows from others, and what is erased soon in any case. */
  others: readonly Column[];
  /** The columns of the key, which also give the order: text by code points, numbers by value. */
  key: readonly string[];
  /** The version of backups that first has it, if that is not the oldest. An older backup is restored without its rows. */
  since?: number;
  /** The columns of other rules of uniqueness. */
  unique: readonly (readonly string[])[];
}

/** The values of a row, in the order of the columns of its table. */
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

/** Names a row of a table. */
export const idOf = (of: string): Kind => ({ ...text, of });
export const numberOf = (of: string): Kind => ({ ...number, of });
/** The same without a foreign key. */
export const looseId = (of: string): Kind => ({ ...text, of, loose: true });
export const looseIdOf = (of: string): Kind => ({ ...textOrNull, of, loose: true });
export const looseNumberOf = (of: string): Kind => ({ ...number, of, loose: true });
/** The number of an event of chat in the log of its world. */
export const event: Kind = looseNumberOf("log");
export const eventOrNull: Kind = { ...numberOrNull, of: "log", loose: true };
export const mark: Kind = { ...event, isMark: true };
export const markOrNull: Kind = { ...eventOrNull, isMark: true };

/** The world of a table that refers to it through another one, or outlives it. */
export const anyWorld: Kind = { ...text, of: "worlds", loose: true };

const named = (columns: Record<string, Kind>): Column[] =>
  Object.entries(columns).map(([name, kind]) => ({
    name,
    ...(name === "world_id" && { of: "worlds" }),
    ...kind,
  }));

/**
 * @param columns `world_id` is a foreign key, unless it says otherwise.
 * @param keys the key; then what else is unique, after semicolons.
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
