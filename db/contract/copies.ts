/** Where the lines of a document with a world are: in a file with a path or a descriptor, or here. */
export type Lines = { readonly file: string | number } | { readonly lines: string[] };

/** The rows of a document that was read already, a table after the other. */
export type DocumentRows = readonly {
  readonly table: string;
  readonly rows: readonly (readonly (string | number | null)[])[];
  /** The line of the first row. */
  readonly line: number;
}[];

/** How many rows each of some tables has, without erased users. */
export type RowCounts = Readonly<Record<string, number>>;
