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
import { Expected, textFault } from "./plain/texts.js";

/**
 * Describes the fault in JSON that people send and the server keeps: its size, the
 * number of its values, and its levels are bounded. Bytes alone bound little: 64 KiB
 * hold 32,000 values, which take a hundred times as long to parse as one text.
 * @param value as it was parsed.
 * @param bytes how large its JSON may be.
 * @param levels how many objects and lists may be in each other.
 * @returns a sentence for the sender; undefined if nothing is wrong.
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

/** The most schedule data of a room, in bytes of JSON. */
const MAX_SCHEDULE = 16 * 1024;

/** The fault of the schedule data of a room, which all its viewers get. */
export const scheduleFault = (data: unknown): string | undefined =>
  boundFault(data ?? null, MAX_SCHEDULE);

/** Whether JSON has too many values or levels. Takes a tenth of the time of its validation. */
export function countFault(value: unknown, values: number, levels: number): string | undefined {
  const count = countOf(value, levels);
  if (count === Infinity) {
    return `May not be nested more than ${levels} levels deep.`;
  }
  return count > values ? `May hold at most ${values} values.` : undefined;
}

/** How many values there are, the outermost included; Infinity if it has more levels. */
function countOf(value: unknown, levels: number): number {
  if (typeof value !== "object" || value === null) return 1;
  if (levels === 0) return Infinity;
  let count = 1;
  for (const inner of Object.values(value)) count += countOf(inner, levels - 1);
  return count;
}

/** How many fields an answer names at most. */
const MAX_FAULTS = 20;

/** As deep as any JSON parser a client may use will follow. */
export const MAX_DEPTH = 100;

/** Data that a schema refuses, with all that is wrong with it. */
export class InvalidData extends Error {
  readonly statusCode = 400;
  readonly faults: Faults;

  /** @param faults messages by field, in dotted paths; the first 20 count. */
  constructor(faults: Faults) {
    super("Invalid data.");
    this.faults = Object.fromEntries(Object.entries(faults).slice(0, MAX_FAULTS));
  }
}

/** Faults as they are found: up to {@link MAX_FAULTS} fields, no message twice. */
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

/** Shortens a field name that a client made up, which may be a megabyte long. */
function shortened(name: string): string {
  return name.length > 200 ? `${name.slice(0, 199)}…` : name;
}

/** A list or an object with its position. Nested positions share the path above them. */
interface Place {
  container: object;
  depth: number;
  key?: string;
  parent?: Place;
}

function pathTo({ key, parent }: Place): string[] {
  return parent ? [...pathTo(parent), key!] : [];
}

/**
 * Finds what schemas cannot express: strings that would not read back as they were
 * sent, numbers that JSON cannot represent, names that change prototypes, and nesting that is
 * too deep.
 */
function findUnstorable(body: unknown, faults: FaultList): void {
  // The body itself is checked like a value in a container.
  const pending: Place[] = [];
  const look = (value: unknown, parent: Place | undefined, key: string) => {
    const fault = unstorableValue(value);
    if (fault) faults.add(parent ? [...pathTo(parent), key] : [], fault);
    if (typeof value !== "object" || value === null) return;
    const depth = parent ? parent.depth + 1 : 0;
    pending.push({ container: value, depth, key, ...(parent && { parent }) });
  };
  look(body, undefined, "");
  for (let next; !faults.full && (next = pending.pop());) {
    if (next.depth >= MAX_DEPTH) {
      faults.add(pathTo(next).slice(0, 2), `May not be nested more than ${MAX_DEPTH} levels deep.`);
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
 * Finds what no JSON value of this service may contain: NUL characters, unpaired
 * surrogates, infinite numbers, names that change prototypes, and more than 100 levels.
 * @returns the faults by field, or undefined.
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
  // Code that copies values one by one, in a client too, would change a prototype by them.
  if (
    name === "__proto__" ||
    (name === "constructor" && Object.hasOwn(Object(value) as object, "prototype"))
  ) {
    return "May not have a name that changes prototypes.";
  }
  const fault = unstorable(name);
  return fault && `Names in it must be free of ${fault}.`;
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

/** The message for a form; undefined if another error covers it. */
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

/** Checks data against a schema. @returns what is wrong, if anything is. */
type Validator = (data: unknown) => InvalidData | undefined;

/** Routes share schemas, and so do the applications of one process. */
const compiled = new WeakMap<TSchema, Validator>();

/** The named schemas that a schema refers to. The compiler looks at all that it gets. */
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
 * Makes a check of a schema with messages for people, which is compiled when it is first used.
 * @param schema the schema. Nothing is coerced and nothing is dropped.
 * @returns a function that returns undefined for valid data, and otherwise an error
 *   with all faults at once, for at most 20 fields.
 */
export function compileValidator(schema: TSchema): Validator {
  let validator = compiled.get(schema);
  if (!validator) compiled.set(schema, (validator = compile(schema)));
  return validator;
}

function compile(schema: TSchema): Validator {
  let check: TypeCheck<TSchema> | undefined;
  return (data) => {
    // A start that compiled every schema would take twice as long.
    check ??= TypeCompiler.Compile(schema, [...componentsOf(schema)]);
    const faults = new FaultList();
    // A list instead of an object has no fields that a message could name.
    if (!Array.isArray(data) || schema.type !== "object") {
      findUnstorable(data, faults);
    }
    if (faults.empty && check.Check(data)) return undefined;
    for (const error of check.Errors(data)) {
      if (faults.full) break;
      const message = messageOf(error);
      if (message) faults.add(pathOf(error.path), message);
    }
    return new InvalidData(faults.toFaults());
  };
}

/** An object or a list that contains the present position of the scan. */
interface Container {
  /** The names that occurred so far; undefined in a list. */
  readonly names: Set<string> | undefined;
  /** The name or the index of the present value. */
  key: string | number;
  /** Whether the next string is a name. */
  expectsName: boolean;
}

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** A decimal with at most this many characters and no exponent reads back as it was written. */
const SHORT = 15;

/**
 * Finds what parsing JSON loses: all but the last value of a name that occurs
 * twice in one object, and the digits of a number that a double cannot hold as
 * written. A double holds a number if the shortest decimal of this double has the
 * same value. So 1.50, 1e2 and 0.1 are held; 9007199254740993, 1e-400 and
 * 0.1000000000000000055 are not. The sign of -0 may get lost. Numbers that are too
 * large are found by validation.
 * @param text JSON that a parser has accepted.
 * @returns the losses by field; undefined without any. Nesting far deeper than
 *   validation allows is not scanned.
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
 * An element of a JSON array as it was written.
 * @param text an array that a parser has accepted.
 * @param index of one of its elements.
 * @param count how many elements it has.
 */
export function elementIn(text: string, index: number, count: number): string {
  const start = startOfElement(text, index);
  const end = index === count - 1 ? text.lastIndexOf("]") : startOfElement(text, index + 1) - 1;
  return text.slice(start, end).trim();
}

/** The position after the bracket, or after the comma before an element. */
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

/** The position of the quotation mark that ends the string which begins at `start`. */
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

/** The value of a decimal in a normal form, without its sign. */
function valueOf(decimal: string): string {
  const [, whole, fraction = "", exponent = "0"] = /^-?(\d+)(?:\.(\d+))?(?:e(.+))?$/i.exec(
    decimal,
  )!;
  const digits = whole! + fraction;
  // Not a pattern, because one for trailing zeros takes quadratic time.
  let first = 0;
  while (digits[first] === "0") first++;
  if (first === digits.length) return "0";
  let end = digits.length;
  while (digits[end - 1] === "0") end--;
  const scale = Number(exponent) - fraction.length + digits.length - end;
  return `${digits.slice(first, end)}e${scale}`;
}
