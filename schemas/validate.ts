import type { TSchema } from "@sinclair/typebox";
import {
  type TypeCheck,
  TypeCompiler,
  type ValueError,
  ValueErrorType,
} from "@sinclair/typebox/compiler";
import type { Faults } from "./errors.js";
import { components } from "./openapi/components.js";
import { MAX_LEVELS, MAX_VALUES } from "./plain/limits.js";
import { AlsoCheck, Expected, textFault } from "./plain/texts.js";

/**
 * Checks the bounds of user-submitted JSON that the server stores: its size, number of values, and
 * nesting. A size limit alone is not enough: 64 KiB can hold 32,000 values, which take a hundred
 * times as long to parse as a single string.
 * @param value the parsed JSON.
 * @param bytes the maximum size of the JSON.
 * @param levels the maximum nesting of objects and lists.
 * @returns a sentence for the sender; undefined if there is no fault.
 */
export const boundFault = (
  value: unknown,
  bytes: number,
  levels = MAX_LEVELS,
): string | undefined =>
  countFault(value, MAX_VALUES, levels) ??
  (Buffer.byteLength(JSON.stringify(value)) > bytes
    ? `Must be at most ${bytes / 1024} KiB of JSON.`
    : undefined);

/** The maximum size of a room's schedule data, in bytes of JSON. */
const MAX_SCHEDULE = 16 * 1024;

/** Checks a room's schedule data, which is sent to all viewers in the room. */
export const scheduleFault = (data: unknown): string | undefined =>
  boundFault(data ?? null, MAX_SCHEDULE);

/** Checks the number of values and the nesting depth of JSON, in a tenth of the time that a full validation takes. */
export function countFault(value: unknown, values: number, levels: number): string | undefined {
  const count = countOf(value, levels);
  if (count === Infinity) {
    return `May be nested at most ${levels} levels deep.`;
  }
  return count > values ? `May hold at most ${values} values.` : undefined;
}

/** Counts values, including the outermost value. Returns Infinity if there are too many levels. */
function countOf(value: unknown, levels: number): number {
  if (typeof value !== "object" || value === null) return 1;
  if (levels === 0) return Infinity;
  let count = 1;
  for (const inner of Object.values(value)) count += countOf(inner, levels - 1);
  return count;
}

/** Maximum number of fields whose faults are reported in a response. */
const MAX_FAULTS = 20;

/** Maximum nesting depth that every client's JSON parser can be expected to handle. */
export const MAX_DEPTH = 100;

/** The error for data that does not match a schema. It lists the faults by field. */
export class InvalidData extends Error {
  readonly statusCode = 400;
  readonly faults: Faults;

  /** @param faults messages by dotted field path; only the first 20 fields are kept. */
  constructor(faults: Faults) {
    super("Invalid data.");
    this.faults = Object.fromEntries(Object.entries(faults).slice(0, MAX_FAULTS));
  }
}

/** Collects faults: up to {@link MAX_FAULTS} fields, without duplicate messages. */
export class FaultList {
  readonly #fields = new Map<string, string[]>();

  get full(): boolean {
    return this.#fields.size >= MAX_FAULTS;
  }

  get empty(): boolean {
    return this.#fields.size === 0;
  }

  add(path: readonly string[], message: string): void {
    const field = path.map(shortened).join(".") || "non_field_errors";
    const messages = this.#fields.get(field);
    if (!messages) {
      if (!this.full) this.#fields.set(field, [message]);
    } else if (!messages.includes(message)) messages.push(message);
  }

  toFaults(): Faults {
    return Object.fromEntries(this.#fields);
  }
}

/** Shortens a field name, which comes from the client and may be a megabyte long. */
function shortened(name: string): string {
  return name.length > 200 ? `${name.slice(0, 199)}…` : name;
}

/** A list or an object with its location. Nested locations share their parent's path. */
interface ValueLocation {
  container: object;
  depth: number;
  key?: string;
  parent?: ValueLocation;
}

function pathTo({ key, parent }: ValueLocation): string[] {
  return parent ? [...pathTo(parent), key!] : [];
}

/**
 * Finds faults that schemas cannot express: strings that would not survive a round trip, numbers
 * that JSON cannot represent, names that modify prototypes, and excessive nesting.
 */
function findUnstorable(body: unknown, faults: FaultList): void {
  // The body itself is checked like a nested value.
  const pending: ValueLocation[] = [];
  const look = (value: unknown, parent: ValueLocation | undefined, key: string) => {
    const fault = unstorableValue(value);
    if (fault) faults.add(parent ? [...pathTo(parent), key] : [], fault);
    if (typeof value !== "object" || value === null) return;
    const depth = parent ? parent.depth + 1 : 0;
    pending.push({ container: value, depth, key, ...(parent && { parent }) });
  };
  look(body, undefined, "");
  for (let next; !faults.full && (next = pending.pop());) {
    if (next.depth >= MAX_DEPTH) {
      faults.add(pathTo(next).slice(0, 2), `May be nested at most ${MAX_DEPTH} levels deep.`);
      return;
    }
    const isList = Array.isArray(next.container);
    for (const [key, inner] of Object.entries(next.container)) {
      const fault = isList ? undefined : unstorableName(key, inner);
      if (fault) faults.add(pathTo(next), fault);
      look(inner, next, key);
    }
  }
}

/**
 * Finds values that no JSON in this service may contain: NUL characters, unpaired surrogates,
 * infinite numbers, names that modify prototypes, and more than 100 levels of nesting.
 * @returns the faults by field; undefined if there are none.
 */
export function unstorableIn(value: unknown): Faults | undefined {
  const faults = new FaultList();
  findUnstorable(value, faults);
  return faults.empty ? undefined : faults.toFaults();
}

function unstorableValue(value: unknown): string | undefined {
  if (typeof value === "string") {
    const fault = unstorable(value);
    return fault && `Must be free of ${fault}.`;
  }
  return typeof value === "number" && !Number.isFinite(value)
    ? "Must be a number that fits in 64 bits."
    : undefined;
}

function unstorableName(name: string, value: unknown): string | undefined {
  // With these names, code that copies values one by one, including code in clients, would modify a
  // prototype.
  if (
    name === "__proto__" ||
    (name === "constructor" && Object.hasOwn(Object(value) as object, "prototype"))
  ) {
    return "May not contain a name that modifies prototypes.";
  }
  const fault = unstorable(name);
  return fault && `Its names must be free of ${fault}.`;
}

function unstorable(text: string): string | undefined {
  if (text.includes("\0")) return "NUL characters";
  if (!text.isWellFormed()) return "unpaired surrogates";
  return undefined;
}

export const REQUIRED = "This field is required.";
export const UNKNOWN = "Unknown field.";

/** Splits and unescapes a JSON Pointer (RFC 6901) from TypeBox or Ajv. */
export function pathOf(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Returns the message for an error; undefined if another error covers it. */
function messageOf({ type, schema: s, value }: ValueError): string | undefined {
  const schema: TSchema & { [Expected]?: string } = s;
  switch (type) {
    case ValueErrorType.ObjectRequiredProperty:
      return REQUIRED;
    case ValueErrorType.ObjectAdditionalProperties:
      return schema[Expected] ? `Must be ${schema[Expected]}.` : UNKNOWN;
    case ValueErrorType.ObjectMinProperties:
    case ValueErrorType.ObjectMaxProperties:
      if (schema.minProperties === 1 && schema.maxProperties === 1) {
        return `Must name exactly one of ${Object.keys(schema.properties as object).join(", ")}.`;
      }
      return `May hold at most ${schema.maxProperties} keys.`;
    case ValueErrorType.ArrayMaxItems:
      return `May hold at most ${schema.maxItems} entries.`;
    case ValueErrorType.ArrayMinItems:
      return "May not be empty.";
    case ValueErrorType.IntegerMinimum:
      return `Must be at least ${schema.minimum}.`;
    case ValueErrorType.IntegerMaximum:
      return `Must be at most ${schema.maximum}.`;
    case ValueErrorType.Integer:
      return value === undefined ? undefined : "Must be a whole number.";
    case ValueErrorType.Object:
      return value === undefined ? undefined : "Must be an object.";
    case ValueErrorType.Array:
      return value === undefined ? undefined : "Must be a list.";
    case ValueErrorType.Boolean:
      return value === undefined ? undefined : "Must be true or false.";
    case ValueErrorType.Kind:
      return value === undefined ? undefined : textFault(schema, value);
    case ValueErrorType.Union:
      return value === undefined ? undefined : `Must be ${schema[Expected] ?? "one of its forms"}.`;
    default:
      return value === undefined ? undefined : "Invalid value.";
  }
}

/**
 * Checks data against a schema.
 * @returns an error with the faults, or undefined if the data is valid.
 */
type Validator = (data: unknown) => InvalidData | undefined;

/** Shared by all routes and all applications in a process, because they use the same schemas. */
const compiled = new WeakMap<TSchema, Validator>();

/** Collects the named schemas that a schema refers to, because the compiler processes every schema it receives. */
function componentsOf(schema: TSchema, found = new Set<TSchema>()): ReadonlySet<TSchema> {
  for (const [, id] of JSON.stringify(schema).matchAll(/"\$ref":"([^"]*)"/g)) {
    const named = components.find(({ $id }) => $id === id);
    if (!named || found.has(named)) continue;
    found.add(named);
    componentsOf(named, found);
  }
  return found;
}

/**
 * Returns a check against a schema. The check is compiled when it is first used, and has
 * human-readable messages.
 * @param schema the schema. Nothing is coerced or dropped.
 * @returns a function that returns undefined for valid data, and otherwise an error with the faults
 * in up to 20 fields.
 */
export function compileValidator(schema: TSchema): Validator {
  let validator = compiled.get(schema);
  if (!validator) compiled.set(schema, (validator = compile(schema)));
  return validator;
}

interface Refined {
  [AlsoCheck]?: (data: unknown) => Readonly<Record<string, string>>;
}

function compile(schema: TSchema): Validator {
  let check: TypeCheck<TSchema> | undefined;
  const alsoCheck = (schema as Refined)[AlsoCheck];
  return (data) => {
    // Compiling every schema at startup would double the startup time.
    check ??= TypeCompiler.Compile(schema, [...componentsOf(schema)]);
    const faults = new FaultList();
    // A list in place of an object has no fields for messages to name.
    if (!Array.isArray(data) || schema.type !== "object") {
      findUnstorable(data, faults);
    }
    if (faults.empty && check.Check(data)) {
      const also = Object.entries(alsoCheck?.(data) ?? {});
      for (const [field, message] of also) faults.add([field], message);
      return faults.empty ? undefined : new InvalidData(faults.toFaults());
    }
    for (const error of check.Errors(data)) {
      if (faults.full) break;
      const message = messageOf(error);
      if (message) faults.add(pathOf(error.path), message);
    }
    return new InvalidData(faults.toFaults());
  };
}

/** An object or list that encloses the scan position. */
interface Container {
  /** The names seen so far; undefined in a list. */
  readonly names: Set<string> | undefined;
  /** The current value's name or index. */
  key: string | number;
  /** Whether the next string is a name. */
  expectsName: boolean;
}

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** Decimals of at most this many characters without an exponent always survive a round trip. */
const SHORT = 15;

/**
 * Finds data that is lost when JSON is parsed: all but the last value of a duplicate name in an
 * object, and digits of a number that a double cannot represent exactly as written. A double
 * represents a number if the double's shortest decimal has the same value. For example, 1.50, 1e2
 * and 0.1 are representable; 9007199254740993, 1e-400 and 0.1000000000000000055 are not. The sign
 * of -0 may be lost. Numbers that are too large are left to validation.
 * @param text JSON that a parser has accepted.
 * @returns the losses by field; undefined if there are none. Nesting far deeper than validation
 * allows is not scanned.
 */
export function findLosses(text: string): InvalidData | undefined {
  const faults = new FaultList();
  const open: Container[] = [];
  const add = (message: string) =>
    faults.add(
      open.map(({ key }) => String(key)),
      message,
    );
  let top: Container | undefined;
  for (let at = 0; at < text.length && !faults.full; at++) {
    const char = text[at]!;
    if (char === '"') {
      const end = endOfString(text, at);
      if (top?.expectsName) {
        const name = nameIn(text.slice(at + 1, end));
        top.key = name;
        top.expectsName = false;
        if (top.names!.has(name)) add("This name may occur only once.");
        else top.names!.add(name);
      }
      at = end;
    } else if (char === "{" || char === "[") {
      if (open.length > 2 * MAX_DEPTH) break;
      top =
        char === "{"
          ? { names: new Set(), key: "", expectsName: true }
          : { names: undefined, key: 0, expectsName: false };
      open.push(top);
    } else if (char === "}" || char === "]") {
      open.pop();
      top = open.at(-1);
    } else if (char === ",") {
      if (typeof top!.key === "number") top!.key++;
      else top!.expectsName = true;
    } else if (char === "-" || (char >= "0" && char <= "9")) {
      NUMBER.lastIndex = at;
      const [number] = NUMBER.exec(text)!;
      if (!isHeld(number)) {
        add("Must be a number that fits in 64 bits as it is written.");
      }
      at += number.length - 1;
    }
  }
  return faults.empty ? undefined : new InvalidData(faults.toFaults());
}

/**
 * Returns the source text of an element in a JSON array.
 * @param text an array that a parser has accepted.
 * @param index the index of the element.
 * @param count the number of elements in the array.
 */
export function elementIn(text: string, index: number, count: number): string {
  const start = startOfElement(text, index);
  const end = index === count - 1 ? text.lastIndexOf("]") : startOfElement(text, index + 1) - 1;
  return text.slice(start, end).trim();
}

/** Returns the position after the opening bracket, or after the comma that precedes an element. */
function startOfElement(text: string, index: number): number {
  let depth = 1;
  let at = text.indexOf("[") + 1;
  for (let passed = 0; passed < index; at++) {
    const char = text[at]!;
    if (char === '"') at = endOfString(text, at);
    else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
    else if (char === "," && depth === 1) passed++;
  }
  return at;
}

/** Returns the position of the closing quote of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  for (let end = start; ;) {
    end = text.indexOf('"', end + 1);
    let backslashes = 0;
    while (text[end - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return end;
  }
}

const nameIn = (text: string): string =>
  text.includes("\\") ? (JSON.parse(`"${text}"`) as string) : text;

function isHeld(number: string): boolean {
  if (number.length <= SHORT && !/e/i.test(number)) return true;
  const value = Number(number);
  return !Number.isFinite(value) || valueOf(number) === valueOf(String(value));
}

/** Normalizes a decimal number, ignoring its sign. */
function valueOf(decimal: string): string {
  const [, whole, fraction = "", exponent = "0"] = /^-?(\d+)(?:\.(\d+))?(?:e(.+))?$/i.exec(
    decimal,
  )!;
  const digits = whole! + fraction;
  // No regular expression, because a regular expression for trailing zeros takes quadratic time.
  let first = 0;
  while (digits[first] === "0") first++;
  if (first === digits.length) return "0";
  let end = digits.length;
  while (digits[end - 1] === "0") end--;
  const scale = Number(exponent) - fraction.length + digits.length - end;
  return `${digits.slice(first, end)}e${scale}`;
}
