// Shapes of messages from other processes and servers. Schemas are not needed, because these
// messages are not documented. Every event between processes is checked, and shapes load faster and
// are cheaper than schemas.

/** Returns whether an untrusted value has the expected shape. */
export type Shape = (value: unknown) => boolean;

/** Maximum length of an id, in UTF-16 units. */
const MAX_ID = 500;

/** A generous upper bound for the number of options, reactions, rules, or parts of rules. */
export const MAX_PARTS = 1_000;

/** Maximum nesting depth of accepted JSON. Functions that serialize or compare JSON recurse once per level. */
const MAX_DEPTH = 100;

export const isText: Shape = (value) => typeof value === "string";
export const isFlag: Shape = (value) => typeof value === "boolean";

/** A string that is short enough to be an id. */
export const isId: Shape = (value) => typeof value === "string" && value.length <= MAX_ID;

/** A finite number. */
export const isNumber: Shape = (value) => Number.isFinite(value);

/** A non-negative safe integer. */
export const isCount: Shape = (value) => Number.isSafeInteger(value) && (value as number) >= 0;

/** A JSON value that is not nested too deeply. */
export const isJson: Shape = (value) => isFlat(value, MAX_DEPTH);

/** A string of JSON whose value is an object that is not nested too deeply. The string can be forwarded unchanged. */
export const isJsonOfObject: Shape = (value) => {
  if (typeof value !== "string") return false;
  try {
    const parsed: unknown = JSON.parse(value);
    return isObject(parsed) && isJson(parsed);
  } catch {
    return false;
  }
};

function isFlat(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return value !== undefined;
  return depth > 0 && Object.values(value).every((one) => isFlat(one, depth - 1));
}

/** One of the given values. */
export const isOneOf =
  (...values: readonly unknown[]): Shape =>
  (value) =>
    values.includes(value);

/** A value of the given shape, or null. */
export const isNullOr =
  (shape: Shape): Shape =>
  (value) =>
    value === null || shape(value);

/** A list of at most `max` items of one shape. */
export const isListOf =
  (shape: Shape, max = Infinity): Shape =>
  (value) =>
    Array.isArray(value) && value.length <= max && value.every(shape);

/** A list with exactly one item of each shape, in order. */
export const isTupleOf =
  (...shapes: readonly Shape[]): Shape =>
  (value) =>
    Array.isArray(value) &&
    value.length === shapes.length &&
    shapes.every((shape, i) => shape(value[i]));

/** An object with arbitrary names and at most `max` values of one shape. */
export const isMapOf =
  (shape: Shape, max = Infinity): Shape =>
  (value) => {
    if (!isObject(value)) return false;
    const values = Object.values(value);
    return values.length <= max && values.every(shape);
  };

/**
 * An object with the given fields. Unknown fields are allowed, because a newer version of Foyer may
 * send them.
 * @param required the shapes of required fields.
 * @param optional the shapes of optional fields.
 */
export function isRecord(
  required: Readonly<Record<string, Shape>>,
  optional: Readonly<Record<string, Shape>> = {},
): Shape {
  const present = Object.entries(required);
  const possible = Object.entries(optional);
  return (value) =>
    isObject(value) &&
    present.every(([name, shape]) => Object.hasOwn(value, name) && shape(value[name])) &&
    possible.every(
      ([name, shape]) =>
        !Object.hasOwn(value, name) || value[name] === undefined || shape(value[name]),
    );
}

/**
 * An object of one of several kinds, each with its own shape.
 * @param name the property that distinguishes the kinds.
 */
export const isKindOf =
  (name: string, kinds: Readonly<Record<string, Shape>>): Shape =>
  (value) => {
    if (!isObject(value)) return false;
    const kind = value[name];
    return typeof kind === "string" && Object.hasOwn(kinds, kind) && kinds[kind]!(value);
  };

/** Whether a value is an object but not a list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
