import { FaultList, InvalidData, MAX_DEPTH } from "./validate.js";

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
