// Part of db/contract/store.ts: parameter types shared by several parts of the store.

/**
 * A record and its version. db/rules/versions.ts computes the version from the values that a reader
 * sees and from the revision. The revision counts the changes to the record, starting from 1. Equal
 * versions therefore mean equal values on every server and engine, and a change followed by its
 * reversal yields a third version. Compare versions rather than objects: reading the same record
 * twice may return two objects. The value is deeply frozen, because several readers share it.
 */
export interface Versioned<T> {
  readonly value: T;
  /** Contains only characters allowed in an ETag, but no quotation marks or commas. */
  readonly version: string;
  /**
   * The value as compact JSON, with its properties in schema order. An engine that stores JSON can
   * return this text without parsing, so a caller that only sends a record does not pay for
   * building objects.
   */
  readonly json: string;
}

/** Selects a page of a list. A page past the end is empty. */
export interface PageSelection {
  /** Starts from 1. `page * pageSize` must be a safe integer. */
  page: number;
  pageSize: number;
  /** If set, the page begins after this position and counts as page 1. No row needs to exist at the position. */
  after?: ListPosition | undefined;
}

/** A position in an ordering: a row's values in the compared fields. */
export type ListPosition = readonly (string | number)[];

/** How a world treats a guest whom it does not know yet. */
export interface GuestEntry {
  /** Whether the guest waits for a moderator's approval. */
  readonly waits: boolean;
  /** Until when the guest may only read, in milliseconds since 1970. */
  readonly quietUntil?: number | undefined;
}

/**
 * A person who enters a world, identified by either the `uid` of a token or a guest's client ID. If
 * both are given, the token wins. A `uid` and a client ID that are the same string identify two
 * different users. The `uid` and the client ID are case-sensitive.
 */
export interface Visitor {
  tokenId?: string | undefined;
  clientId?: string | undefined;
  traits: ReadonlySet<string>;
  /** Any JSON object; unset if the token has none. Used only when the user is created. */
  profile?: Record<string, unknown> | undefined;
  /** The user's id in pretalx. Used only when the user is created. */
  pretalxId?: string | undefined;
  /** Whether the person is logging in, which sets `last_login`. */
  login?: boolean | undefined;
  /** The network from which a person comes. Only a keyed hash of it is stored. */
  network?: string | undefined;
  /** Used only when a guest is created; by default, guests may do everything at once. */
  guest?: GuestEntry | undefined;
}

export interface FileDigest {
  /** The key of the bytes in the `FileStore`: `pub/<world>/<id>.<secret>.<extension>`. */
  key: string;
  /** In bytes. */
  size: number;
  /** The SHA-256 of the bytes, in lowercase hexadecimal. */
  sha256: string;
}

/** The source of the lines in a world document: a file, by path or descriptor, or an array in memory. */
export type LineSource = { readonly file: string | number } | { readonly lines: string[] };

/** The rows in a parsed document, grouped by table. */
export type DocumentRows = readonly {
  readonly table: string;
  readonly rows: readonly (readonly (string | number | null)[])[];
  /** The line number of the first row. */
  readonly line: number;
}[];

/** The number of rows in each of several tables, excluding erased users. */
export type RowCounts = Readonly<Record<string, number>>;
