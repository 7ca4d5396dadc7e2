import {
  Kind,
  type Static,
  Type,
  TypeRegistry,
  type SchemaOptions,
  type TSchema,
  type TUnsafe,
} from "@sinclair/typebox";
import {
  domain,
  Expected,
  textFault,
  sentTitle,
  worldId,
  type TextOptions,
} from "./plain/texts.js";

/**
 * A string whose length counts characters (code points), as JSON Schema has it;
 * TypeBox's own string counts UTF-16 units and would refuse 300 emoji.
 */
export function Text(options: TextOptions & SchemaOptions = {}): TUnsafe<string> {
  return Type.Unsafe<string>({
    pattern: "^[^\\u0000]*$",
    [Expected]: "free of NUL characters",
    ...options,
    [Kind]: "Text",
    type: "string",
  });
}

/** A {@link Text} or null. */
export function TextOrNull(options: TextOptions & SchemaOptions = {}): TUnsafe<string | null> {
  return Type.Unsafe<string | null>({ ...Text(options), type: ["string", "null"] });
}

/** One of several words. */
export function OneOf<T extends string>(...words: readonly T[]): TUnsafe<T> {
  return Type.Unsafe<T>({ [Kind]: "Text", type: "string", enum: words });
}

TypeRegistry.Set<TextOptions>("Text", (schema, value) => textFault(schema, value) === undefined);

/** Any JSON object, or null. */
export const AnyObjectOrNull = Type.Unsafe<Record<string, unknown> | null>(
  Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()], {
    [Expected]: "an object or null",
  }),
);

/** A reference to a named schema, which a document contains only once. */
export function ref<T extends TSchema>(schema: T): TUnsafe<Static<T>> {
  if (schema.$id === undefined) throw new Error("Only a named schema is referred to.");
  return Type.Unsafe<Static<T>>(Type.Ref(schema.$id));
}

/** A list with a bound. All lists in requests are made with this function. */
export function List<T extends TSchema>(
  items: T,
  maxItems: number,
  options: SchemaOptions & { minItems?: number } = {},
) {
  return Type.Array(items, { ...options, maxItems });
}

export const Domain = Text(domain);
export const WorldId = Text(worldId);
export const Title = Text(sentTitle);
