import { type Static, Type, type TSchema } from "@sinclair/typebox";
import { ref } from "./values.js";

/** Which page of a list is asked for. Other parameters are kept in its links. */
export const PageQuery = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 1, default: 1 })),
  page_size: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, default: 50 }),
  ),
});

const Link = Type.Unsafe<string | null>({
  type: ["string", "null"],
  format: "uri",
});

/**
 * A page of a list, as an answer.
 * @param item what the list holds; a schema with a name.
 * @param options the name of the page, what it is, and an example of an item.
 */
export const PageOf = <T extends TSchema>(
  item: T,
  {
    example,
    ...named
  }: { $id: string; description: string; example: Static<T> },
) =>
  Type.Object(
    {
      count: Type.Integer({ description: "How many there are on all pages." }),
      next: Link,
      previous: Link,
      results: Type.Array(ref(item)),
    },
    {
      ...named,
      examples: [{ count: 1, next: null, previous: null, results: [example] }],
    },
  );
