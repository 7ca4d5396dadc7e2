// What short texts look like, without TypeBox: most commands need no more of the
// schemas, and TypeBox alone takes longer to load than they take to run.

/**
 * What a value should have been, in words that follow "Must be": validation
 * builds its message from it. A symbol, so that it never reaches a document.
 */
export const Expected = Symbol.for("foyer.expected");

/** What a text must be, in the words of JSON Schema. */
export interface TextOptions {
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  enum?: readonly string[];
  /** Says where `null` is taken as well. */
  type?: "string" | readonly ["string", "null"];
  [Expected]?: string;
}

const patterns = new Map<string, RegExp>();

function patternOf(source: string): RegExp {
  let pattern = patterns.get(source);
  if (!pattern) patterns.set(source, (pattern = new RegExp(source, "u")));
  return pattern;
}

/** How many characters (code points) a string has. */
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

/**
 * Why a value is not the text a schema asks for.
 * @returns a sentence, or undefined when it is.
 */
export function textFault(
  schema: TextOptions,
  value: unknown,
): string | undefined {
  const isNullable = Array.isArray(schema.type);
  if (value === null && isNullable) return undefined;
  if (typeof value !== "string") {
    return `Must be a string${isNullable ? " or null" : ""}.`;
  }
  const { minLength = 0, maxLength = Infinity, pattern } = schema;
  if (schema.enum && !schema.enum.includes(value)) {
    return `Must be one of ${schema.enum.join(", ")}.`;
  }
  if (value.length < minLength) return "May not be empty.";
  if (value.length > maxLength && lengthOf(value) > maxLength) {
    return `Must be at most ${maxLength} characters.`;
  }
  if (pattern !== undefined && !patternOf(pattern).test(value)) {
    return `Must be ${schema[Expected] ?? `like ${pattern}`}.`;
  }
  return undefined;
}

const label = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
const port =
  "[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]";

/** Where a world or a room is reached: a host name with an optional port. */
export const domain = {
  minLength: 1,
  maxLength: 253,
  pattern: `^${label}(\\.${label})*(:(${port}))?$`,
  description: "A host name in lower case, with an optional port.",
  examples: ["live.example.org"],
  [Expected]: "a host name in lower case, with an optional :port",
};

/** The identifier of a world, fixed when it is made. */
export const worldId = {
  minLength: 1,
  maxLength: 50,
  pattern: "^[a-z0-9][a-z0-9-]*$",
  [Expected]:
    "a-z, 0-9 and -, starting with a letter or a digit, at most 50 characters",
};

/** What people call a world or a room. */
export const title = { minLength: 1, maxLength: 300 };

/** What a token says of its bearer, and what a rule asks for. */
export const trait = {
  minLength: 1,
  maxLength: 200,
  pattern: "^[^\\u0000-\\u0020,|]+$",
  examples: ["admin"],
  [Expected]: "a trait: 1 to 200 characters without spaces, commas or |",
};

/** By what the tokens of a user name it. */
export const uid = { minLength: 1, maxLength: 200 };
