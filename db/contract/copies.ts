/** Where the lines of a document with a world are. */
export type Lines = { readonly file: string } | { readonly lines: string[] };

/** How many rows each of some tables has. Of users, those who are not erased. */
export type RowCounts = Readonly<Record<string, number>>;
