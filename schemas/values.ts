import {
  Kind,
  type Static,
  Type,
  TypeRegistry,
  type SchemaOptions,
  type TSchema,
  type TUnsafe,
} from "@sinclair/typebox";

/**
 * What a value should have been, in words that follow "Must be": validation
 * builds its message from it. A symbol, so that it never reaches a document.
 */
export const Expected = Symbol.for("foyer.expected");

interface TextOptions extends SchemaOptions {
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  enum?: readonly string[];
  [Expected]?: string;
}

/**
 * A string whose length counts characters (code points), as JSON Schema has it;
 * TypeBox's own string counts UTF-16 units and would refuse 300 emoji.
 */
export function Text(options: TextOptions = {}): TUnsafe<string> {
  return Type.Unsafe<string>({
    pattern: "^[^\\u0000]*$",
    [Expected]: "free of NUL characters",
    ...options,
    [Kind]: "Text",
    type: "string",
  });
}

/** One of a few words. */
export function OneOf<T extends string>(...words: readonly T[]): TUnsafe<T> {
  return Type.Unsafe<T>({ [Kind]: "Text", type: "string", enum: words });
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
  if (typeof value !== "string") return "Must be a string.";
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

TypeRegistry.Set<TextOptions>(
  "Text",
  (schema, value) => textFault(schema, value) === undefined,
);

/** A schema by its name: in a document it is written once, however often it is used. */
export function ref<T extends TSchema>(schema: T): TUnsafe<Static<T>> {
  if (schema.$id === undefined)
    throw new Error("Only a named schema is referred to.");
  return Type.Unsafe<Static<T>>(Type.Ref(schema.$id));
}

/** A list; the only way a list of this service is bounded. */
export function List<T extends TSchema>(
  items: T,
  maxItems: number,
  options: SchemaOptions & { minItems?: number } = {},
) {
  return Type.Array(items, { ...options, maxItems });
}

const label = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
const port =
  "[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]";

/** Where a world or a room is reached: a host name with an optional port. */
export const Domain = Text({
  minLength: 1,
  maxLength: 253,
  pattern: `^${label}(\\.${label})*(:(${port}))?$`,
  description: "A host name in lower case, with an optional port.",
  examples: ["live.example.org"],
  [Expected]: "a host name in lower case, with an optional :port",
});

/** The identifier of a world, fixed when it is made. */
export const WorldId = Text({
  minLength: 1,
  maxLength: 50,
  pattern: "^[a-z0-9][a-z0-9-]*$",
  [Expected]:
    "a-z, 0-9 and -, starting with a letter or a digit, at most 50 characters",
});

export const Title = Text({ minLength: 1, maxLength: 300 });
