// Shapes of messages from other processes and servers. They load at once and cost little, as each
// event between processes is checked, and no schema is needed where nothing is documented.

/** Whether a value from outside has a shape. */
export type Shape = (value: unknown) => boolean;

/** The longest id. */
const MAX_ID = 500;

/** How many options, reactions, rules, or parts of rules there are at most, and then some. */
export const MAX_PARTS = 1_000;

/** How deep JSON may be. Functions that write or compare it recurse for each level. */
const MAX_DEPTH = 100;

export const isText: Shape = (value) => typeof value === "string";
export const isFlag: Shape = (value) => typeof value === "boolean";

/** A text that is no longer than an id. */
export const isId: Shape = (value) => typeof value === "string" && value.length <= MAX_ID;

/** A finite number. */
export const isNumber: Shape = (value) => Number.isFinite(value);

/** A whole number from 0. */
export const isCount: Shape = (value) => Number.isSafeInteger(value) && (value as number) >= 0;

/** Whether something is a value of JSON that nothing has to fear. */
export const isJson: Shape = (value) => isFlat(value, MAX_DEPTH);

/** A text that is JSON of an object that nothing has to fear. It may be sent on as it is. */
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

/** One of some values. */
export const isOneOf =
  (...values: readonly unknown[]): Shape =>
  (value) =>
    values.includes(value);

/** As a shape, or null. */
export const isNullOr =
  (shape: Shape): Shape =>
  (value) =>
    value === null || shape(value);

/** A list of things of a shape, at most so many. */
export const isListOf =
  (shape: Shape, max = Infinity): Shape =>
  (value) =>
    Array.isArray(value) && value.length <= max && value.every(shape);

/** A list with one thing of each shape. */
export const isTupleOf =
  (...shapes: readonly Shape[]): Shape =>
  (value) =>
    Array.isArray(value) &&
    value.length === shapes.length &&
    shapes.every((shape, i) => shape(value[i]));

/** An object with any names, at most so many, and values of a shape. */
export const isMapOf =
  (shape: Shape, max = Infinity): Shape =>
  (value) => {
    if (!isObject(value)) return false;
    const values = Object.values(value);
    return values.length <= max && values.every(shape);
  };

/**
 * An object. It may have further fields, as a newer Foyer may send more.
 * @param required the shape of each property.
 * @param optional the shapes of fields that may be missing.
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

/** One of several kinds of objects, each with a shape. @param name of the property that tells them apart. */
export const isKindOf =
  (name: string, kinds: Readonly<Record<string, Shape>>): Shape =>
  (value) => {
    if (!isObject(value)) return false;
    const kind = value[name];
    return typeof kind === "string" && Object.hasOwn(kinds, kind) && kinds[kind]!(value);
  };

/** Whether a value is an object, and no list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
