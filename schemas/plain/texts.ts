// The rules for short texts, without TypeBox. Most commands need no other schemas,
// and TypeBox alone takes longer to load than they take to run.

/**
 * The keyword for the words that follow "Must be" in the message of validation. It is a
 * symbol, so that it never reaches a document.
 */
export const Expected = Symbol.for("foyer.expected");

/** The keyword for the bounds of a number that is written as text. JSON Schema has none. */
export const Bounds = Symbol.for("foyer.bounds");

/** The rules for a text, as keywords of JSON Schema. */
export interface TextOptions {
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  enum?: readonly (string | null)[];
  /** The list also accepts `null`. */
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

/** The length of a string in characters (code points). */
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

/** The first characters (code points) of a text. */
export const firstOf = (text: string, length: number): string =>
  text.length <= length ? text : [...text.slice(0, 2 * length)].slice(0, length).join("");

/**
 * Checks a text against its rules.
 * @returns the fault, as a sentence; undefined without one.
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

/** The id of a world, which cannot be changed. */
export const worldId = {
  minLength: 1,
  maxLength: 50,
  pattern: "^[a-z0-9][a-z0-9-]*$",
  [Expected]: "a-z, 0-9 and -, starting with a letter or a digit, at most 50 characters",
};

/** The pattern of a UUID in lower case, for any part of a text. */
export const UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}";

/** A UUID. */
export const uuid = {
  pattern: `^${UUID}$`,
  [Expected]: "a UUID in lower case",
};

/**
 * A character that shows something: no white space, no control, none of those that Unicode calls
 * Default_Ignorable_Code_Point, and no blank of Braille. It names none beyond 16 bits, as the pattern is
 * in documents that other languages read, where such ranges differ.
 */
const SHOWN =
  "[^\\s\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8]";

/** The rules for a text that people read: it must show something. */
export const visible = { minLength: 1, pattern: SHOWN, [Expected]: "a text that shows something" };

/** A text that may be left empty, but must not only look empty. */
export const visibleOrEmpty = {
  ...visible,
  minLength: 0,
  pattern: `^$|${SHOWN}`,
};

/** Whether a text shows something. */
export const showsSomething = (text: string): boolean => patternOf(SHOWN).test(text);

/** The title of a world and the name of a room, as they are stored. */
export const title = { minLength: 1, maxLength: 300 };

/** The same, as somebody sends it. */
export const sentTitle = { ...title, ...visible };

/** A trait, which tokens grant and rules ask for. */
export const trait = {
  minLength: 1,
  maxLength: 200,
  pattern: "^[^\\u0000-\\u0020,|]+$",
  examples: ["admin"],
  [Expected]: "a trait: 1 to 200 characters without spaces, commas or |",
};

/** The id of a user in the service that issues its tokens. */
export const uid = { minLength: 1, maxLength: 200 };

/** The id of a user as it is kept: a `uid`, or the name of another issuer, `#` and its `uid`. */
export const tokenId = { minLength: 1, maxLength: 501 };
