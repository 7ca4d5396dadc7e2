import type { Subject } from "../log/entries.js";
import type { Author } from "./author.js";
import type { ListPlace } from "./selections.js";

/** A field that a write changed: its name for the feed, and its values for the audit. */
export interface FieldChange {
  readonly field: string;
  /** As clients get it; null if the record is new. */
  readonly before: unknown;
  /** As clients get it; null if the record was deleted. */
  readonly after: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * The fields in which two states of a record differ.
 * @param before null for a new record.
 * @param after null for a deleted one.
 * @param names the fields to compare. Other ones are internal.
 */
export const changesBetween = (
  before: object | null,
  after: object | null,
  names: readonly string[],
): FieldChange[] =>
  names.flatMap((field) => {
    const [old, now] = [before, after].map((state) => (state as Fields | null)?.[field] ?? null);
    return isEqual(old, now) ? [] : [{ field, before: old, after: now }];
  });

/** Fields that changed, without their values, as these are personal or too large. */
export const changedFields = (...names: string[]): FieldChange[] =>
  names.map((field) => ({ field, before: null, after: null }));

const isEqual = (a: unknown, b: unknown): boolean =>
  a === b || JSON.stringify(a) === JSON.stringify(b);

/** Stored JSON of more characters is not parsed to note a change. */
const MAX_PARSED = 64 * 1024;

/** A value that is stored as JSON. A large one stands as a text that says how large it is. */
export const storedValue = (json: string): unknown =>
  json.length > MAX_PARSED ? `(${json.length} characters)` : JSON.parse(json);

// Part of db/contract/store.ts: the audit. `Store` has the rules for every method.

/** An act that changes no record of the store, such as an export. */
export interface Act {
  /** Such as `results.exported`. */
  readonly type: string;
  readonly subject: Subject;
  /** With secrets left out. Others are masked by their names. */
  readonly changes?: readonly FieldChange[] | undefined;
}

/** Something that a person with rights did. */
export interface AuditEntry {
  /** Counts up. */
  number: number;
  /** In milliseconds since 1970. */
  at: number;
  by: Pick<Author, "kind" | "user" | "token">;
  type: string;
  subject: Record<string, unknown>;
  changes: FieldChange[];
  request_id: string | null;
}

export interface AuditSelection {
  page: number;
  pageSize: number;
  /** The page begins after this place instead: the number of an entry. */
  place?: ListPlace | undefined;
  user?: string | undefined;
  types?: readonly string[] | undefined;
  /** Only after and before these times, in milliseconds since 1970. */
  after?: number | undefined;
  before?: number | undefined;
}

/** What people with rights did. Each write adds its own row, in its transaction (`db/log/draft.ts`). */
export interface AuditStore {
  /** A page, the newest first. */
  list(
    worldId: string,
    selection: AuditSelection,
  ): Promise<{ count: number; entries: AuditEntry[] }>;
  /** The names in tokens of callers of the API who are no users, by the `token` of authors. */
  callers(worldId: string, tokens: readonly string[]): Promise<Map<string, string>>;
  /**
   * Notes an act that no other write notes.
   * @throws {StoreError} `absent` when the world does not exist.
   */
  record(worldId: string, act: Act, by?: Author): Promise<void>;
  /**
   * Removes a slice of the entries before a time, and the names of callers who wrote nothing since another.
   * A name may stay for an hour longer, as the time of a caller is stored once an hour.
   * @param before in milliseconds since 1970, as is `unseen`.
   * @returns whether there may be more.
   */
  prune(worldId: string, before: number, unseen: number): Promise<boolean>;
}
