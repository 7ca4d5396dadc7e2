/** A value as JSON that was made before. Answers and pushes contain it as it is. */
export class Json<T> {
  /** Only the compiler knows it. */
  declare readonly value: T;

  constructor(readonly text: string) {}

  /** Would parse it, or send its text as a string. */
  toJSON(): never {
    throw new Error("Only jsonOf encodes this.");
  }
}

/** An answer as JSON, all or most of which many receivers share as bytes. */
export class SharedJson<T> {
  /** Only the compiler knows it. */
  declare readonly value: T;

  /** @param shared UTF-8. It is not copied: do not change it. */
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

/** Encodes a value as `JSON.stringify` does, with each {@link Json} in it as it is. */
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

/** Encodes a value once for all answers that have it. */
export const encoded = <T>(value: Sendable<T>): Json<T> => new Json(jsonOf(value));

/** Encodes an answer once for all receivers. */
export const shared = <T>(value: Sendable<T>): SharedJson<T> =>
  new SharedJson(Buffer.from(jsonOf(value)));
