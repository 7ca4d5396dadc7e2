/** A value that is already encoded as JSON. Responses and pushes include it verbatim. */
export class Json<T> {
  /** Exists only for type checking. */
  declare readonly value: T;

  constructor(readonly text: string) {}

  /** Guards against `JSON.stringify`, which would not include the JSON verbatim. */
  toJSON(): never {
    throw new Error("Only jsonOf encodes this.");
  }
}

/** A result as JSON, most or all of which is a buffer that many recipients share. */
export class SharedJson<T> {
  /** Exists only for type checking. */
  declare readonly value: T;

  /** @param shared text in UTF-8. The buffer is not copied: do not modify it. */
  constructor(
    readonly shared: Buffer,
    readonly before = "",
    readonly after = "",
  ) {}
}

/** A value that may be {@link Json}, as a whole or in parts. */
export type Sendable<T> =
  | T
  | Json<T>
  | SharedJson<T>
  | (T extends readonly (infer E)[]
      ? readonly Sendable<E>[]
      : T extends object
        ? { readonly [K in keyof T]: Sendable<T[K]> }
        : never);

/** Encodes a value like `JSON.stringify`, but includes each nested {@link Json} verbatim. */
export function jsonOf(value: unknown): string {
  if (typeof value !== "object" || value === null) {
    return JSON.stringify(value) ?? "null";
  }
  if (value instanceof Json) return value.text;
  if (value instanceof SharedJson) {
    return value.before + value.shared.toString() + value.after;
  }
  if (Array.isArray(value)) return `[${value.map(jsonOf).join()}]`;
  const fields: string[] = [];
  for (const [name, field] of Object.entries(value)) {
    if (field === undefined) continue;
    fields.push(`${JSON.stringify(name)}:${jsonOf(field)}`);
  }
  return `{${fields.join()}}`;
}

/** Encodes a value once for all results and pushes that contain it. */
export const encoded = <T>(value: Sendable<T>): Json<T> => new Json(jsonOf(value));

/** Encodes a result once for all recipients. */
export const shared = <T>(value: Sendable<T>): SharedJson<T> =>
  new SharedJson(Buffer.from(jsonOf(value)));
