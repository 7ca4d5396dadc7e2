// Part of db/contract/store.ts: the audit. `Store` has the rules for every method.

import type { Author } from "./author.js";
import type { Subject } from "../log/entries.js";
import type { FieldChange } from "../log/fields.js";
import type { ListPlace } from "./selections.js";

/** An act that changes no record of the store, such as an export. */
export interface Act {
  /** Such as `results.exported`. */
  readonly type: string;
  /** The ids of what it was about. */
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

/** Selects a page of the audit. */
export interface AuditSelection {
  page: number;
  pageSize: number;
  /** The page begins after this place instead: the number of an entry. */
  place?: ListPlace | undefined;
  /** Only acts of the user with this id. */
  user?: string | undefined;
  /** Only these types. */
  types?: readonly string[] | undefined;
  /** Only after and before these times, in milliseconds since 1970. */
  after?: number | undefined;
  before?: number | undefined;
}

/** What people with rights did. Each write adds its own row, in its transaction (`db/log/audited.ts`). */
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
