import type { Subject } from "../log/entries.js";
import type { Author } from "./author.js";
import type { ListPosition } from "./selections.js";

/**
 * A field that a write changed. The feed contains only the field's name; the audit also contains
 * the field's values.
 */
export interface FieldChange {
  readonly field: string;
  /** In the form that clients receive; null if the record is new. */
  readonly before: unknown;
  /** In the form that clients receive; null if the record was deleted. */
  readonly after: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns the fields in which two states of a record differ.
 * @param before null for a new record.
 * @param after null for a deleted record.
 * @param names the fields to compare. All other fields are internal.
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

/** Lists changed fields without their values, for values that are personal or too large. */
export const changedFields = (...names: string[]): FieldChange[] =>
  names.map((field) => ({ field, before: null, after: null }));

const isEqual = (a: unknown, b: unknown): boolean =>
  a === b || JSON.stringify(a) === JSON.stringify(b);

/** Maximum length of stored JSON that is parsed to record a change, in characters. */
const MAX_PARSED = 64 * 1024;

/** Parses a value stored as JSON. A large value is replaced by a string that states its size. */
export const storedValue = (json: string): unknown =>
  json.length > MAX_PARSED ? `(${json.length} characters)` : JSON.parse(json);

// Part of db/contract/store.ts: the audit. `Store` documents the rules for every method.

/** An action that changes no record of the store, such as an export. */
export interface AuditAct {
  /** For example, `results.exported`. */
  readonly type: string;
  readonly subject: Subject;
  /** The caller omits secrets. Fields whose names identify them as secrets are masked as well. */
  readonly changes?: readonly FieldChange[] | undefined;
}

/** An action by a privileged user. */
export interface AuditEntry {
  /** Increases with each entry. */
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
  /** The position of an entry. If set, the page begins after that entry, and `page` is ignored. */
  place?: ListPosition | undefined;
  user?: string | undefined;
  types?: readonly string[] | undefined;
  /** Exclusive bounds, in milliseconds since 1970. */
  after?: number | undefined;
  before?: number | undefined;
}

/** Actions by privileged users. Each audited write adds a row in the same transaction (`db/log/draft.ts`). */
export interface AuditStore {
  /** Returns a page of entries, newest first. */
  list(
    worldId: string,
    selection: AuditSelection,
  ): Promise<{ count: number; entries: AuditEntry[] }>;
  /** Returns the `uid` of each API caller that is not a user, by the author's `token`. */
  callers(worldId: string, tokens: readonly string[]): Promise<Map<string, string>>;
  /**
   * Records an action that no other write records.
   * @throws {StoreError} `absent` when the world does not exist.
   */
  record(worldId: string, act: AuditAct, by?: Author): Promise<void>;
  /**
   * Removes a slice of the entries older than `before`, and the names of callers that have written
   * nothing since `unseen`. A name may be kept for an extra hour, because the time of a caller's
   * last write is stored at most once an hour.
   * @param before in milliseconds since 1970, like `unseen`.
   * @returns whether there may be more to remove.
   */
  prune(worldId: string, before: number, unseen: number): Promise<boolean>;
}
