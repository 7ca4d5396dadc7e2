// The rules for short strings, without TypeBox. Most CLI commands need no other schemas, and
// loading TypeBox alone takes longer than running such a command.

/**
 * The keyword for the text after "Must be" in validation messages. It is a symbol, so that it is
 * never serialized into a document.
 */
export const Expected = Symbol.for("foyer.expected");

/** The keyword for the bounds of a number written as text. JSON Schema has no such keyword. */
export const Bounds = Symbol.for("foyer.bounds");

/** The keyword for a check that no schema can express: it returns the faults of a value by field. */
export const AlsoCheck = Symbol.for("foyer.check");

/** The rules for a string, as JSON Schema keywords. */
export interface TextOptions {
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  enum?: readonly (string | null)[];
  /** `["string", "null"]` also accepts `null`. */
  type?: "string" | readonly ["string", "null"];
  [Expected]?: string;
  [Bounds]?: { readonly minimum: number; readonly maximum: number };
}

const patterns = new Map<string, RegExp>();

function patternOf(source: string): RegExp {
  let pattern = patterns.get(source);
  if (!pattern) patterns.set(source, (pattern = new RegExp(source, "u")));
  return pattern;
}

/** Returns the length of a string in characters (code points). */
export function lengthOf(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    if (text.codePointAt(i)! > 0xffff) {
      length--;
      i++;
    }
  }
  return length;
}

/** Truncates a string to a number of characters (code points). */
export const truncate = (text: string, length: number): string =>
  text.length <= length ? text : [...text.slice(0, 2 * length)].slice(0, length).join("");

/**
 * Checks a string against its rules.
 * @returns the fault, as a sentence; undefined if there is none.
 */
export function textFault(schema: TextOptions, value: unknown): string | undefined {
  const isNullable = Array.isArray(schema.type);
  if (value === null && isNullable) return undefined;
  if (typeof value !== "string") {
    return `Must be a string${isNullable ? " or null" : ""}.`;
  }
  const { minLength = 0, maxLength = Infinity, pattern } = schema;
  if (schema.enum && !schema.enum.includes(value)) {
    return `Must be one of ${schema.enum.map(String).join(", ")}.`;
  }
  if (value.length < minLength) return "May not be empty.";
  if (value.length > maxLength && lengthOf(value) > maxLength) {
    return `Must be at most ${maxLength} characters.`;
  }
  if (pattern !== undefined && !patternOf(pattern).test(value)) {
    return `Must be ${schema[Expected] ?? `like ${pattern}`}.`;
  }
  const { minimum, maximum } = schema[Bounds] ?? {};
  if (minimum !== undefined && Number(value) < minimum) {
    return `Must be at least ${minimum}.`;
  }
  if (maximum !== undefined && Number(value) > maximum) {
    return `Must be at most ${maximum}.`;
  }
  return undefined;
}

const label = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
const port = "[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]";

/** The domain of a world or a room: a host name with an optional port. */
export const domain = {
  minLength: 1,
  maxLength: 253,
  pattern: `^${label}(\\.${label})*(:(${port}))?$`,
  description: "A host name in lower case, with an optional port.",
  examples: ["live.example.org"],
  [Expected]: "a host name in lower case, with an optional :port",
};

/** A world's id, which is immutable. */
export const worldId = {
  minLength: 1,
  maxLength: 50,
  pattern: "^[a-z0-9][a-z0-9-]*$",
  [Expected]: "a-z, 0-9 and -, starting with a letter or a digit, at most 50 characters",
};

/** The unanchored pattern of a lower-case UUID. */
export const UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}";

/** A UUID. */
export const uuid = {
  pattern: `^${UUID}$`,
  [Expected]: "a UUID in lower case",
};

/**
 * Matches a visible character: no whitespace, no control character, no character with Unicode's
 * Default_Ignorable_Code_Point property, and no Braille blank. The pattern contains no characters
 * beyond 16 bits, because it is published in documents for programming languages that differ in
 * their syntax for such characters.
 */
const SHOWN =
  "[^\\s\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8]";

/** The rules for a string that people read: it must contain a visible character. */
export const visible = { minLength: 1, pattern: SHOWN, [Expected]: "a text that shows something" };

/** A string that may be empty, but otherwise must contain a visible character. */
export const visibleOrEmpty = {
  ...visible,
  minLength: 0,
  pattern: `^$|${SHOWN}`,
};

/** Whether a string contains a visible character. */
export const showsSomething = (text: string): boolean => patternOf(SHOWN).test(text);

/** A world's title or a room's name, as stored. */
export const title = { minLength: 1, maxLength: 300 };

/** A world's title or a room's name, as submitted. */
export const sentTitle = { ...title, ...visible };

/** A trait, which tokens grant and rules require. */
export const trait = {
  minLength: 1,
  maxLength: 200,
  pattern: "^[^\\u0000-\\u0020,|]+$",
  examples: ["admin"],
  [Expected]: "a trait: 1 to 200 characters without spaces, commas or |",
};

/** A user's id in the service that issues its tokens. */
export const uid = { minLength: 1, maxLength: 200 };

/** A user's id as stored: a `uid`, optionally prefixed with an external issuer's name and `#`. */
export const tokenId = { minLength: 1, maxLength: 501 };
