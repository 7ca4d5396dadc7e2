/** Where the lines of a document with a world are: in a file with a path or a descriptor, or here. */
export type Lines =
  { readonly file: string | number } | { readonly lines: string[] };

/** How many rows each of some tables has, without erased users. */
export type RowCounts = Readonly<Record<string, number>>;
