// Part of db/contract/store.ts: what several parts of the store take.

/**
 * A record and its version. db/rules/versions.ts computes the version from the values that a reader
 * sees and from the revision, which counts the changes of the record from 1. So equal versions mean
 * equal values, on every server and every engine, and a change followed by its reversal gives a
 * third version. Nothing else identifies a state: the same record read twice may be two objects.
 * The value is frozen with all that it holds, as readers share it.
 */
export interface Versioned<T> {
  readonly value: T;
  /** Of characters that an ETag may hold: no quotation mark and no comma. */
  readonly version: string;
  /**
   * The value as compact JSON, its properties in the order of their schema. An
   * engine that keeps JSON need not parse it to give this, so a caller that only
   * sends a record never pays for the objects in it.
   */
  readonly json: string;
}

/** Selects a page of a list. A page past the end is empty. */
export interface PageSelection {
  /** From 1. `page * pageSize` is a safe integer. */
  page: number;
  pageSize: number;
  /** The page, which is then the first one, begins after this place. No row need be there. */
  after?: ListPlace | undefined;
}

/** The place of a row in an order: its values of the fields that the order compares. */
export type ListPlace = readonly (string | number)[];

/**
 * A person who enters a world, named by exactly one of the `uid` of a token and
 * the client ID of a guest. With both, the token counts. A `uid` and a client ID
 * with the same text name two users, and case matters in both.
 */
export interface Visitor {
  tokenId?: string | undefined;
  clientId?: string | undefined;
  traits: ReadonlySet<string>;
  /** Any JSON object; none if the token has none. Counts when the user is created. */
  profile?: Record<string, unknown> | undefined;
  /** The user's id in pretalx. Counts when the user is created. */
  pretalxId?: string | undefined;
  /** Whether this is a login, which sets `last_login`. */
  login?: boolean | undefined;
}

export interface FileDigest {
  /** Names the bytes in the `FileStore`: `pub/<world>/<id>.<secret>.<extension>`. */
  key: string;
  /** In bytes. */
  size: number;
  /** The SHA-256 of its bytes, in lower-case hexadecimal. */
  sha256: string;
}

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
