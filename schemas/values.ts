import {
  Kind,
  type SchemaOptions,
  type Static,
  type TSchema,
  type TUnsafe,
  Type,
  TypeRegistry,
} from "@sinclair/typebox";
import {
  domain,
  Expected,
  sentTitle,
  textFault,
  type TextOptions,
  worldId,
} from "./plain/texts.js";

/**
 * A string whose length is counted in characters (code points), as JSON Schema requires; TypeBox's
 * own string counts UTF-16 units and would reject 300 emoji.
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

/** Returns a reference to a named schema, so that documents contain the schema only once. */
export function ref<T extends TSchema>(schema: T): TUnsafe<Static<T>> {
  if (schema.$id === undefined) throw new Error("Only a named schema is referred to.");
  return Type.Unsafe<Static<T>>(Type.Ref(schema.$id));
}

/** A list with an upper bound. All lists in requests must use this function. */
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

/**
 * Query parameters that select a page of a list. Links to other pages preserve the request's
 * remaining parameters.
 */
export const PageQuery = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 1, default: 1 })),
  page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 50 })),
  cursor: Type.Optional(
    Text({
      maxLength: 4000,
      description:
        "Instead of `page`, and refused beside it: empty for the first page, then as in `next`. A page begins where the last one ended, whatever was added or deleted meanwhile.",
    }),
  ),
});
export type PageQuery = Static<typeof PageQuery>;

const Link = Type.Unsafe<string | null>({ type: ["string", "null"], format: "uri" });

/**
 * Returns the schema of a response that contains one page of a list.
 * @param item the named schema of an item.
 * @param options the name and description of the page, and an example of an item.
 */
export const PageOf = <T extends TSchema>(
  item: T,
  { example, ...named }: { $id: string; description: string; example: Static<T> },
) =>
  Type.Object(
    {
      count: Type.Integer({ description: "How many there are on all pages." }),
      next: Link,
      previous: Link,
      results: Type.Array(ref(item)),
    },
    { ...named, examples: [{ count: 1, next: null, previous: null, results: [example] }] },
  );
