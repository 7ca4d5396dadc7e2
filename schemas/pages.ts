import { type Static, Type, type TSchema } from "@sinclair/typebox";
import { ref, Text } from "./values.js";

/** Query parameters that select a page of a list. Links to other pages keep all other parameters. */
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
 * The schema of an answer with a page of a list.
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
