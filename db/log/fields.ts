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
